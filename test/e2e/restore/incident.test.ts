import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import { startOperator } from '../../../src/demo/operator/controllers.ts';
import { bootHost, findServedConfig, joinCluster } from '../../../src/demo/operator/hosts.ts';
import { renderMachineConfig } from '../../../src/demo/operator/machine-config.ts';
import { MASTER_POOL } from '../../../src/demo/operator/pool.ts';
import { Simulation, type SimulationEvent } from '../../../src/demo/operator/simulation.ts';
import { type ApiRequest, KubeApi } from '../../../src/kube/api.ts';
import { connectionFromKubeconfig } from '../../../src/kube/connection.ts';
import { parseRenderedConfig } from '../../../src/rendered-config/rendered-config.ts';
import { restore, type RestoreOptions } from '../../../src/cli/restore/restore-run.ts';
import { Child } from '../control-plane/child.ts';
import { isDeniedInUse } from '../support/cluster.ts';
import { nodeConfigPatch } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import { PROGRAM, runProgram } from '../support/program.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

const CONFIG_MAPS = '/api/v1/namespaces/kube-system/configmaps';
const POOL = `${PATHS.pools}/${MASTER_POOL}`;
const MASTERS = ['control0', 'control1', 'control2'];
/** How often the operator reads the cluster while a restore can change it. */
const REFRESH_MS = 25;
/** A config of the bootstrap host, which was never in the API. */
const MISSING = renderMachineConfig('server 0.rhel.pool.ntp.org iburst\n');
const { name: missing } = MISSING.metadata;

const installed = await sharedInstalledCluster();
const { admin } = installed.cluster;
const kubeconfig = await readFile(installed.controlPlane.apiServer.kubeconfig, 'utf8');
const api = new KubeApi(connectionFromKubeconfig(kubeconfig));

beforeAll(async () => {
  const metadata = { name: 'cluster-config-v1' };
  const data = { 'install-config': 'controlPlane:\n  name: master\n  replicas: 3\n' };
  await admin.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
});

beforeEach(() => installed.clear());

afterAll(async () => {
  await installed.clear();
  await admin.delete(`${CONFIG_MAPS}/cluster-config-v1`);
  api.close();
});

interface Situation {
  /** The masters that run the missing config. The others boot. */
  readonly joined: readonly string[];
  readonly minMastersToDrain: number;
}

const TWO_MASTERS: Situation = { joined: ['control1', 'control2'], minMastersToDrain: 0 };
/** Without the third etcd member, the PodDisruptionBudget blocks every drain of a master. */
const TWO_MASTERS_BLOCKED: Situation = { ...TWO_MASTERS, minMastersToDrain: 3 };
const THREE_MASTERS: Situation = { joined: MASTERS, minMastersToDrain: 0 };
const THREE_MASTERS_BLOCKED: Situation = { ...THREE_MASTERS, minMastersToDrain: 3 };

/** Runs the simulated operator into the deadlock. */
async function createDeadlock({ joined, minMastersToDrain }: Situation, onEvent = (_event: SimulationEvent) => {}) {
  const simulation = new Simulation({ api, speed: Number.POSITIVE_INFINITY, minMastersToDrain, onEvent });
  for (const name of joined) await joinCluster(simulation, name, MISSING);
  await simulation.rollOut('server ntp.example.com iburst\n');
  startOperator(simulation);
  for (const name of MASTERS.filter((master) => !joined.includes(master))) simulation.start(bootHost(simulation, name));
  await simulation.run();
  const degraded = { currentConfig: missing, desiredConfig: missing, state: 'Degraded', ready: true };
  expect(simulation.nodes).toMatchObject(joined.map((name) => ({ name, ...degraded })));
  expect(simulation.pool.status).toMatchObject({ configuration: '', updatedMachineCount: 0 });
  expect(findServedConfig(simulation)).toBeUndefined();
  return simulation;
}

/** Runs the operator beside work that changes the cluster, until the work is done. */
async function runBeside<Result>(simulation: Simulation, work: Promise<Result>): Promise<Result> {
  const progress = { isDone: false };
  const markDone = () => {
    progress.isDone = true;
  };
  work.then(markDone, markDone);
  while (!progress.isDone) {
    await simulation.run();
    await delay(REFRESH_MS);
  }
  await simulation.run();
  return await work;
}

/** Restores the config from the file that the machine-config-server wrote to a master. */
async function runRestore(simulation: Simulation, options: Partial<RestoreOptions> = {}, client = api) {
  const config = parseRenderedConfig(JSON.stringify(simulation.disks.get('control1')), 'node/control1');
  const progress: string[] = [];
  const work = restore(client, {
    configs: [config],
    isConfirmed: true,
    acceptContent: false,
    timeoutMs: 30_000,
    intervalMs: 50,
    ...options,
    onProgress: (text, elapsedMs) => {
      progress.push(text);
      options.onProgress?.(text, elapsedMs);
    },
  });
  const report = await runBeside(simulation, work);
  return { report, progress };
}

/** Runs the operator until it has nothing to do, and expects an updated pool. */
async function expectUpdatedPool(simulation: Simulation) {
  await simulation.run();
  const { nodes, pool } = simulation;
  const { config } = pool;
  expect(config).not.toBe(missing);
  const updated = { currentConfig: config, desiredConfig: config, state: 'Done', ready: true };
  expect(nodes).toMatchObject(MASTERS.map((name) => ({ name, ...updated })));
  expect(pool).toMatchObject({
    isPaused: false,
    status: { configuration: config, updatedMachineCount: 3 },
  });
  const object = await admin.find(POOL);
  expect(object?.metadata.annotations ?? {}).toEqual({});
  const restored = await admin.find(`${PATHS.configs}/${missing}`);
  expect(restored?.spec).toEqual(MISSING.spec);
  expect(restored?.metadata.ownerReferences).toMatchObject([{ name: MASTER_POOL, uid: object?.metadata.uid }]);
}

test.each([
  ['two masters', TWO_MASTERS],
  ['two masters that cannot be drained', TWO_MASTERS_BLOCKED],
  ['three masters', THREE_MASTERS],
  ['three masters, of which etcd needs three to drain one', THREE_MASTERS_BLOCKED],
])('restore alone ends the deadlock of %s', async (_title, situation) => {
  const messages: string[] = [];
  const simulation = await createDeadlock(situation, ({ message }) => messages.push(message));

  const { report } = await runRestore(simulation);

  expect(report).toMatchObject({ ok: true, problem: null, pausedPools: [] });
  expect(report.configs).toMatchObject([{ name: missing, outcome: 'restored' }]);
  await expectUpdatedPool(simulation);
  // The pause lets the third machine join before another one is updated, and so can be lost.
  const joinedAt = messages.indexOf(`control0 joins, running ${missing}`);
  expect(joinedAt === -1).toBe(situation.joined.includes('control0'));
  expect(messages.slice(0, joinedAt + 1).filter((message) => message.includes('is next'))).toEqual([]);
});

test('the guard denies the deletion of the restored config', async () => {
  const simulation = await createDeadlock(TWO_MASTERS_BLOCKED);
  let denial: ReturnType<typeof installed.cluster.delete> | undefined;

  await runRestore(simulation, {
    onProgress: (text) => {
      if (text.startsWith('created')) denial = installed.cluster.delete(missing);
    },
  });

  expect(await denial).toSatisfy(isDeniedInUse);
  await expectUpdatedPool(simulation);
});

const PAUSED = 'pool master stays paused for this restore';

/** Expects that the output of the first run names a paused pool, and that a second run completes. */
async function expectSecondRunCompletes(
  simulation: Simulation,
  { report, progress }: Awaited<ReturnType<typeof runRestore>>,
) {
  expect(report).toMatchObject({ ok: false, problem: 'interrupted' });
  expect(report.pausedPools.map(({ name }) => name)).toEqual([MASTER_POOL]);
  expect(progress.at(-1)?.startsWith(PAUSED)).toBe(true);

  const second = await runRestore(simulation);

  expect(second.report).toMatchObject({ ok: true, pausedPools: [] });
  await expectUpdatedPool(simulation);
}

test.each(['paused pool', 'created', 'set the status', 'waiting for 1 machine', 'all machines of pool'])(
  'a second run completes a restore that was interrupted after "%s"',
  async (step) => {
    const simulation = await createDeadlock(TWO_MASTERS_BLOCKED);
    const interruption = new AbortController();

    const first = await runRestore(simulation, {
      signal: interruption.signal,
      onProgress: (text) => {
        if (text.startsWith(step)) interruption.abort();
      },
    });

    expect(simulation.pool.isPaused).toBe(true);
    await expectSecondRunCompletes(simulation, first);
  },
);

/** Loses the response to a write, and interrupts the restore. */
class InterruptedApi extends KubeApi {
  readonly interruption = new AbortController();
  #writesLeft: number;

  constructor(writeCount: number) {
    super(connectionFromKubeconfig(kubeconfig));
    this.#writesLeft = writeCount;
  }

  override async json(request: ApiRequest): Promise<unknown> {
    const answer = await super.json(request);
    const isWrite = request.method !== undefined && !request.path.includes('dryRun=All');
    if (isWrite) this.#writesLeft -= 1;
    if (isWrite && this.#writesLeft === 0) this.interruption.abort();
    this.interruption.signal.throwIfAborted();
    return answer;
  }
}

test.each([
  [1, 'the pause'],
  [4, 'the end of the pause'],
])('a second run completes a restore that lost the response to write %i: %s', async (count) => {
  const simulation = await createDeadlock(TWO_MASTERS_BLOCKED);
  const client = new InterruptedApi(count);

  const first = await runRestore(simulation, { signal: client.interruption.signal }, client);

  client.close();
  // Without a response the restore cannot know that the pool is not paused any more.
  expect(simulation.pool.isPaused).toBe(count < 4);
  await expectSecondRunCompletes(simulation, first);
});

test.each([
  ['SIGINT', 130],
  ['SIGKILL', null],
] as const)('the command completes a restore that %s ended', async (signal, expectedExitCode) => {
  const simulation = await createDeadlock(TWO_MASTERS_BLOCKED);
  const { directory, reaper, apiServer } = installed.controlPlane;
  const [file, logFile] = ['json', 'log'].map((extension) => join(directory, `${signal}.${extension}`)) as [
    string,
    string,
  ];
  await writeFile(file, JSON.stringify(simulation.disks.get('control1')));
  const args = ['restore', '--kubeconfig', apiServer.kubeconfig, '--from', file, '--confirm'];
  const readLog = () => readFile(logFile, 'utf8');
  const command = new Child({ command: process.execPath, args: [PROGRAM, ...args], logFile, reaper });
  const interrupt = async () => {
    await command.waitUntil(async () => (await readLog()).includes('created'), 20_000);
    return await command.stop(signal);
  };

  expect(await runBeside(simulation, interrupt())).toBe(expectedExitCode);
  expect(simulation.pool.isPaused).toBe(true);
  // A killed process can write nothing.
  const paused = `${PAUSED}; to give up the restore, unpause it: oc --kubeconfig ${apiServer.kubeconfig} patch `;
  expect((await readLog()).includes(paused)).toBe(signal === 'SIGINT');
  const restored = await runBeside(simulation, runProgram(...args));

  expect(restored).toContain('Restored.');
  await expectUpdatedPool(simulation);
});

test('the operator alone recovers after the creation only if a master can be drained', async () => {
  for (const [situation, isUpdated] of [
    [TWO_MASTERS, true],
    [TWO_MASTERS_BLOCKED, false],
  ] as const) {
    const simulation = await createDeadlock(situation);
    await admin.create(PATHS.configs, withOwner(MISSING, simulation.pool.uid));
    await simulation.run();
    const { nodes, pool } = simulation;
    expect(pool.status.updatedMachineCount).toBe(isUpdated ? 3 : 0);
    expect(nodes).toHaveLength(isUpdated ? 3 : 2);
    expect(nodes.some(({ state }) => state === 'Degraded')).toBe(false);
    await installed.clear();
  }
});

function withOwner({ metadata, ...config }: typeof MISSING, uid: string) {
  const ownerReferences = metadata.ownerReferences?.map((owner) => ({ ...owner, uid }));
  return { ...config, metadata: { ...metadata, ownerReferences } };
}

test('the annotations of another config leave the old content on the disk', async () => {
  const simulation = await createDeadlock(TWO_MASTERS_BLOCKED);
  const { config } = simulation.pool;
  for (const name of TWO_MASTERS.joined) {
    const patch = nodeConfigPatch({ currentConfig: config, desiredConfig: config });
    await admin.patch(`${PATHS.nodes}/${name}`, patch);
  }

  await simulation.run();

  const reason = `unexpected on-disk state validating against ${config}`;
  expect(simulation.nodes).toMatchObject(
    TWO_MASTERS.joined.map((name) => ({ name, currentConfig: config, state: 'Degraded', reason })),
  );
});
