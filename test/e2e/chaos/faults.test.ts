import { setMaxListeners } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';

import { expect, test } from 'vitest';

import { pause, until } from '../control-plane/until.ts';
import { type Answer, Prober } from '../support/prober.ts';
import { debianProgram } from '../support/debian-program.ts';
import type { Launch } from '../support/guard-process.ts';
import type { GuardedCluster } from '../support/guarded-cluster.ts';
import { nodeConfigPatch } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import { IS_LONG } from '../support/runner.ts';
import { sharedGuardedCluster } from '../support/shared-clusters.ts';

/** Something that fails, and that no other test injects: see test/e2e/outages, test/e2e/node and test/e2e/replicas. */
interface Fault {
  readonly name: string;
  /** Whether `npm run test:e2e` injects it without `--long`. */
  readonly isInShortRun?: true;
  /** The fault needs a guard that was started differently. It may need files in this folder. */
  readonly launch?: (directory: string) => Promise<Launch>;
  /** An answer that must occur, or else the fault had no effect. */
  readonly requiredAnswer?: Answer;
  readonly durationMs: number;
  readonly prepare?: (cluster: GuardedCluster, prober: Prober) => Promise<void>;
  /** Starts the fault. The returned function ends it, and throws if it can tell that the fault had no effect. */
  readonly inject: (cluster: GuardedCluster, prober: Prober) => Promise<() => Promise<unknown>>;
}

/** Enough that the guard's watches would wait long until a resource version occurs again. */
const WRITES_AFTER_BACKUP = 100;

/**
 * A node moves between the backup and its restore. The config that it names then is unused after the restore, and the
 * other one is used. The index knows the state before the restore, and its watches are at versions that do not exist.
 */
const etcdRestored: Fault = {
  name: 'etcd-restored',
  isInShortRun: true,
  durationMs: 1_000,
  prepare: async ({ controlPlane }, prober) => {
    const { admin } = controlPlane.apiServer;
    await prober.stop();
    await controlPlane.etcd.backUp();
    const path = `${PATHS.nodes}/${prober.node}`;
    await until('the API server to reach etcd again', () => admin.isReady('/readyz'));
    for (let write = 0; write < WRITES_AFTER_BACKUP; write += 1) {
      await admin.patch(path, { metadata: { annotations: { write: String(write) } } });
    }
    await admin.patch(path, nodeConfigPatch({ currentConfig: prober.configs.unused }));
    prober.configs = swapConfigs(prober.configs);
    prober.resume();
    await prober.awaitRightAnswers();
  },
  inject: async ({ controlPlane }, prober) => {
    await prober.stop();
    await controlPlane.kill();
    prober.configs = swapConfigs(prober.configs);
    prober.resume();
    return () => controlPlane.restoreEtcd();
  },
};

function swapConfigs({ used, unused }: Prober['configs']): Prober['configs'] {
  return { used: unused, unused: used };
}

/** libfaketime reads the offset of the guard's clock from this file at each call. */
function setClock(directory: string, offset: string): Promise<void> {
  return writeFile(join(directory, 'clock-offset'), offset);
}

/** Fakes the time of day only. Setting a clock does not change the monotonic one, which timers use. */
async function fakeClock(directory: string) {
  await setClock(directory, '+0');
  const { file } = await debianProgram('faketime', ['faketime', 'libfaketime']);
  const root = join(dirname(file), '..', 'lib');
  const candidates = readdirSync(root).map((name) => join(root, name, 'faketime', 'libfaketime.so.1'));
  const library = candidates.find((candidate) => existsSync(candidate));
  if (library === undefined) throw new Error(`There is no libfaketime.so.1 below ${root}.`);
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: join(directory, 'clock-offset'),
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
  };
}

/** The guard must reconnect: TLS checks a certificate once per connection. */
const clockAhead: Fault = {
  name: 'clock-ahead',
  launch: fakeClock,
  requiredAnswer: 'unverified',
  durationMs: 15_000,
  inject: async ({ controlPlane: { directory }, network }) => {
    await setClock(directory, '+365d');
    await network.refuse();
    await network.resume();
    return () => setClock(directory, '+0');
  },
};

/** About twice as many as the guard usually has open. */
const DESCRIPTORS = 64;
const RECONNECT_MS = 200;

/** Keeps one idle connection open, or tries to. */
async function occupyDescriptor(port: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const socket = connect({ port, host: '127.0.0.1', signal }).on('error', () => undefined);
    await new Promise((resolve) => socket.once('close', resolve));
    await pause(RECONNECT_MS);
  }
}

const descriptorsExhausted: Fault = {
  name: 'no-descriptors',
  launch: async () => ({ script: `ulimit -n ${DESCRIPTORS}; exec "$@"` }),
  durationMs: 6_000,
  inject: async ({ guard }) => {
    const stop = new AbortController();
    // Each connection listens to the signal.
    setMaxListeners(0, stop.signal);
    const occupy = () => occupyDescriptor(guard.ports.securePort, stop.signal);
    const connections = Array.from({ length: 2 * DESCRIPTORS }, occupy);
    return async () => {
      const open = readdirSync(`/proc/${guard.pid}/fd`).length;
      stop.abort();
      await Promise.all(connections);
      if (open < DESCRIPTORS - 2) throw new Error(`The guard had only ${open} of ${DESCRIPTORS} descriptors open.`);
    };
  },
};

const RIGHT_ANSWERS = 3;

const guarded = await sharedGuardedCluster();
const { cluster } = guarded;
const faults = [etcdRestored, clockAhead, descriptorsExhausted];

test.for(faults.filter(({ isInShortRun }) => IS_LONG || isInShortRun === true))(
  'decides rightly during the fault and recovers: $name',
  async ({ launch, requiredAnswer, durationMs, prepare, inject }) => {
    if (launch !== undefined) await guarded.guard.restart(await launch(guarded.controlPlane.directory));
    const prober = await Prober.start(guarded.cluster.admin);
    try {
      await prober.awaitRightAnswers(RIGHT_ANSWERS);
      await prepare?.(guarded, prober);
      const { pid } = guarded.guard;
      const startedAt = performance.now();
      const recover = await inject(guarded, prober);
      await pause(durationMs);
      await recover();
      await prober.awaitRightAnswers(RIGHT_ANSWERS);
      await prober.stop();
      const config = await cluster.config();
      await cluster.node({ currentConfig: config });
      await guarded.awaitDenialFromIndex(config);
      const answers = prober.probes.filter(({ sentAt }) => sentAt >= startedAt).map(({ answer }) => answer);
      expect(prober.wrongAnswers).toEqual([]);
      if (requiredAnswer !== undefined) expect(answers).toContain(requiredAnswer);
      expect([guarded.guard.isRunning, guarded.guard.pid]).toEqual([true, pid]);
    } finally {
      await prober.stop();
      if (launch !== undefined) await guarded.guard.restart();
    }
  },
);
