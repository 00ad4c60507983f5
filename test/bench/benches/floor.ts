import type { KubeClient } from '../../e2e/control-plane/kube-client.ts';
import { until } from '../../e2e/control-plane/until.ts';
import { decisionsAbout } from '../../e2e/support/guard-process.ts';
import { GuardedCluster } from '../../e2e/support/guarded-cluster.ts';
import { machineConfig, pool, renderedName } from '../../e2e/support/objects.ts';
import { PATHS } from '../../e2e/support/paths.ts';
import type { Bench, BenchContext, Table } from '../bench.ts';
import { labelsOf, narrowGuard, register } from '../contestants.ts';
import { applyFloor, awaitFloor } from '../floor.ts';
import { interleave } from '../interleave.ts';
import { createFleet, nodeSizes, type NodeConfigs } from '../nodes.ts';
import { summary, summaryColumns } from '../percentiles.ts';
import { startPlainWebhook } from '../plain-webhooks.ts';

const CONTESTANTS = ['no webhook', 'no-op webhook', 'policy floor', 'guard'] as const;
type Contestant = (typeof CONTESTANTS)[number];

/** Who has the config of which the deletion is asked for. */
const STATES = ['nothing', 'one node', 'every other node'] as const;
type State = (typeof STATES)[number];

const EFFECTIVE_TIMEOUT_MS = 20_000;

interface Size {
  readonly nodes: number;
  readonly rounds: number;
}

const FULL: readonly Size[] = [
  { nodes: 5, rounds: 300 },
  { nodes: 500, rounds: 200 },
  { nodes: 2_000, rounds: 100 },
];
const QUICK: readonly Size[] = [
  { nodes: 5, rounds: 20 },
  { nodes: 100, rounds: 20 },
];

const bench: Bench = {
  question:
    'What does the deletion of a rendered config cost, refused and allowed: without a guard, with the policies, with the guard?',
  run,
};
export default bench;

async function run({ quick, binaries, log }: BenchContext): Promise<readonly Table[]> {
  const guarded = await GuardedCluster.start(binaries, { direct: true });
  try {
    const { controlPlane } = guarded;
    const { admin } = controlPlane.apiServer;
    const configs = await createConfigs(admin);
    await narrowGuard(admin, labelsOf('guard'));
    await register(admin, 'no-op webhook', await startPlainWebhook(controlPlane, 'parse'));
    await applyFloor(controlPlane, labelsOf('policy floor'));
    await awaitFloor(admin, labelsOf('policy floor'));
    for (const name of ['master', 'worker', 'infra']) {
      await admin.create(PATHS.pools, pool({ name, spec: renderedName(name) }));
    }

    const rows: Table['rows'][number][] = [];
    let made = 0;
    for (const { nodes, rounds } of quick ? QUICK : FULL) {
      log(`${nodes} nodes are made …`);
      await createFleet(admin, { from: made, to: nodes, configsOf: (index) => configsOf(index, configs) });
      made = nodes;
      await awaitKnown(admin, configs);
      for (const state of STATES) {
        log(`${nodes} nodes, a config that ${state} has: ${rounds} rounds …`);
        rows.push(...(await measure(admin, { nodes, rounds }, state, configs, guarded.guard.log)));
      }
    }
    return [table(rows, await nodeSizes(admin))];
  } finally {
    await guarded.stop();
  }
}

type Configs = Readonly<Record<Contestant, Readonly<Record<State, string>>>>;

async function createConfigs(admin: KubeClient): Promise<Configs> {
  const entries = CONTESTANTS.map((contestant) => {
    const names = STATES.map((state) => [state, renderedName()] as const);
    return [contestant, Object.fromEntries(names) as Record<State, string>] as const;
  });
  for (const [contestant, names] of entries) {
    for (const name of Object.values(names)) {
      await admin.create(PATHS.configs, machineConfig({ name, labels: labelsOf(contestant) }));
    }
  }
  return Object.fromEntries(entries) as Configs;
}

/** A node has two places for a config: one for that of the floor, one for that of the guard. The other two need none. */
function configsOf(index: number, configs: Configs): NodeConfigs {
  const state = index === 0 ? 'one node' : 'every other node';
  return { currentConfig: configs['policy floor'][state], desiredConfig: configs.guard[state] };
}

function ask(admin: KubeClient, config: string) {
  return admin.delete(`${PATHS.configs}/${config}`, { dryRun: 'All' });
}

function expected(contestant: Contestant, state: State): number {
  return state !== 'nothing' && (contestant === 'policy floor' || contestant === 'guard') ? 403 : 200;
}

/** Until everybody knows of the nodes that have just been made, and is asked about its own configs alone. */
async function awaitKnown(admin: KubeClient, configs: Configs): Promise<void> {
  for (const contestant of CONTESTANTS) {
    for (const state of STATES) {
      const isRight = async () => (await ask(admin, configs[contestant][state])).status === expected(contestant, state);
      await until(`the right answer of ${contestant}`, isRight, { timeoutMs: EFFECTIVE_TIMEOUT_MS });
    }
  }
}

async function measure(
  admin: KubeClient,
  { nodes, rounds }: Size,
  state: State,
  configs: Configs,
  guardLog: string,
): Promise<Table['rows']> {
  const contestants = CONTESTANTS.map((name) => ({
    name,
    once: async () => {
      const { status, ms } = await ask(admin, configs[name][state]);
      if (status !== expected(name, state)) throw new Error(`${name}: ${status} about a config that ${state} has.`);
      return ms;
    },
  }));
  const measured = await interleave(contestants, { rounds, warmUp: Math.ceil(rounds / 10) });
  const path = (await decisionsAbout(guardLog, configs.guard[state])).at(-1)?.path;
  const wanted = state === 'nothing' ? 'live' : 'index';
  if (path !== wanted) throw new Error(`The guard decided about a config that ${state} has by ${path}, not ${wanted}.`);
  const of = (name: Contestant) => summary(measured.get(name) ?? []);
  return CONTESTANTS.map((name) => ({
    nodes,
    state,
    who: name === 'guard' ? `guard (${state === 'nothing' ? 'live read' : 'index and one GET'})` : name,
    answer: expected(name, state),
    ...of(name),
    timesNone: of(name).p50 / of('no webhook').p50,
    timesNoOp: of(name).p50 / of('no-op webhook').p50,
  }));
}

function table(rows: Table['rows'], sizes: { readonly full: number; readonly metadata: number }): Table {
  return {
    title: 'Dry-run DELETE through a real API server, milliseconds',
    columns: [
      { key: 'nodes', heading: 'nodes' },
      { key: 'state', heading: 'who has the config' },
      { key: 'who', heading: 'who decides' },
      { key: 'answer', heading: 'answer' },
      ...summaryColumns(1),
      { key: 'timesNone', heading: 'p50 × no webhook', digits: 1 },
      { key: 'timesNoOp', heading: 'p50 × no-op', digits: 1 },
    ],
    rows,
    notes: [
      'One client; the four of a group are measured in turn, each on its own config of the same size (1 kB).',
      `A node has ${(sizes.full / 1_000).toFixed(1)} kB of JSON, ${(sizes.metadata / 1_000).toFixed(1)} kB of it metadata; 3 pools.`,
      'The no-op webhook is node:https and allows everything; it and the guard are processes of their own.',
    ],
  };
}
