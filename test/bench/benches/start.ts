import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { join } from 'node:path';

import { createAuthority } from '../../../src/certificates/authority.ts';
import { Child } from '../../e2e/control-plane/child.ts';
import { freePorts } from '../../e2e/control-plane/free-ports.ts';
import { certificateIn, serveArguments } from '../../e2e/support/guard-process.ts';
import { GuardedCluster } from '../../e2e/support/guarded-cluster.ts';
import { imageEnvironment } from '../../e2e/support/image-environment.ts';
import { machineConfig, renderedName } from '../../e2e/support/objects.ts';
import { PATHS } from '../../e2e/support/paths.ts';
import type { Bench, BenchContext, Table } from '../bench.ts';
import { type DirectAnswer, reviewAbout } from '../direct-reviews.ts';
import { firstAnswer } from '../first-answer.ts';
import { type Contestant, interleave } from '../interleave.ts';
import { goalTable } from '../goals.ts';
import { createFleet } from '../nodes.ts';
import { summary, summaryColumns } from '../percentiles.ts';

const NAMESPACE = 'machineconfig-guard';
/** The name that the API server calls: both certificates have it. */
const SERVICE = `machineconfig-guard.${NAMESPACE}.svc`;
/** The only one that the guard may read. */
const SECRET = 'machineconfig-guard-ca';
const NODE = 'node, an empty program';

const FULL = { fleets: [5, 2_000], rounds: 10 } as const;
const QUICK = { fleets: [5, 50], rounds: 2 } as const;

const bench: Bench = {
  question: 'How long does it take from the start of the process to the first right answer?',
  run,
};
export default bench;

/** How the guard is started, and about what it is asked. */
interface Start {
  readonly guarded: GuardedCluster;
  readonly certificate: readonly string[];
  readonly ca: string;
  readonly config: string;
  readonly allowed: boolean;
}

async function run({ quick, binaries, log }: BenchContext): Promise<readonly Table[]> {
  const { fleets, rounds } = quick ? QUICK : FULL;
  const guarded = await GuardedCluster.start(binaries, { direct: true });
  try {
    const { admin } = guarded.controlPlane.apiServer;
    const authority = await createAuthority({ days: 1, now: new Date() });
    await admin.create(`/api/v1/namespaces/${NAMESPACE}/secrets`, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: SECRET, namespace: NAMESPACE },
      stringData: { 'ca.crt': authority.certificatePem, 'ca.key': authority.privateKeyPem },
    });
    // The certificate that the guard of the cluster has.
    const files = {
      certificate: certificateIn(guarded.guard.certDir),
      ca: guarded.guard.ca,
    };
    const secret = { certificate: [`--tls-secret=${NAMESPACE}/${SECRET}`], ca: authority.certificatePem };
    const used = renderedName();
    await admin.create(PATHS.configs, machineConfig({ name: used }));
    const free = renderedName();
    const contestants: readonly Contestant[] = [
      { name: NODE, once: emptyProgram },
      {
        name: 'guard, a config in use is refused',
        once: () => firstAnswerOfGuard({ guarded, ...files, config: used, allowed: false }),
      },
      {
        name: 'guard, a free config is let go',
        once: () => firstAnswerOfGuard({ guarded, ...files, config: free, allowed: true }),
      },
      {
        name: 'guard, its certificate made first (--tls-secret), a config in use is refused',
        once: () => firstAnswerOfGuard({ guarded, ...secret, config: used, allowed: false }),
      },
    ];
    const rows: Table['rows'][number][] = [];
    let there = 0;
    for (const nodes of fleets) {
      log(`${nodes} nodes are made …`);
      const configsOf = () => ({ currentConfig: used, desiredConfig: used });
      await createFleet(admin, { from: there, to: nodes, configsOf });
      there = nodes;
      log(`${nodes} nodes: ${rounds} rounds …`);
      const measured = await interleave(contestants, { rounds, warmUp: 1 });
      const least = summary(measured.get(NODE) ?? []).p50;
      for (const [who, times] of measured) {
        const figures = summary(times);
        rows.push({ nodes, who, ...figures, timesNode: figures.p50 / least });
      }
    }
    return [table(rows), goals(rows)];
  } finally {
    await guarded.stop();
  }
}

async function emptyProgram(): Promise<number> {
  const begun = performance.now();
  await once(spawn(process.execPath, ['--eval', ''], { stdio: 'ignore' }), 'exit');
  return performance.now() - begun;
}

/** Throws where the first answer is not the right one. */
async function firstAnswerOfGuard({ guarded, certificate, ca, config, allowed }: Start): Promise<number> {
  const [securePort = 0, healthPort = 0, metricsPort = 0] = await freePorts(3);
  const ports = { securePort, healthPort, metricsPort };
  const { directory, reaper } = guarded.controlPlane;
  const start = () =>
    new Child({
      command: process.execPath,
      args: serveArguments({ kubeconfig: guarded.kubeconfig, certificate, ports }),
      env: { ...process.env, ...imageEnvironment() },
      logFile: join(directory, 'started-guards.log'),
      reaper,
    });
  const isRight = (answer: DirectAnswer) => {
    if (answer.allowed !== allowed) throw new Error(`The first answer was ${JSON.stringify(answer)}`);
    return true;
  };
  const server = { url: `https://127.0.0.1:${securePort}/validate`, ca, servername: SERVICE };
  return await firstAnswer(server, reviewAbout(config), isRight, start);
}

function goals(rows: Table['rows']): Table {
  const guards = rows.filter(({ who }) => who !== NODE);
  return goalTable(
    'The start against what was wanted',
    guards.map(({ nodes, who, p50 }) => ({
      what: `${nodes} nodes: ${who}, p50, ms`,
      found: Number(p50),
      atMost: 1_000,
    })),
  );
}

function table(rows: Table['rows']): Table {
  return {
    title: 'From the start of the process to the first right answer, milliseconds',
    columns: [
      { key: 'nodes', heading: 'nodes' },
      { key: 'who', heading: 'what' },
      ...summaryColumns(),
      { key: 'timesNode', heading: `p50 × ${NODE}`, digits: 1 },
    ],
    rows,
    bars: { groups: ['nodes'], label: 'who', value: 'p50', reach: 'p99', axis: 'ms, p50 to p99' },
    notes: [
      'The bundle, as it runs in the image; asked directly over TLS, again and again until it answers; the first answer has to be right.',
      'With --tls-secret the guard makes an RSA key of 2,048 bits first, which takes as long as chance will have it.',
    ],
  };
}
