import type { BenchCluster } from '../bench-cluster.ts';
import { awaitAnswers, checkDecisionPaths, type Deletion, measureDeletions } from '../deletions.ts';
import { applyFloor, awaitFloor } from '../floor.ts';
import { getSummary } from '../interleave.ts';
import { nodeProgram } from '../peers/webhook-process.ts';
import { createColumns, type Row, summaryColumns, type Table } from '../table.ts';

export const question =
  'What does the deletion of a rendered config cost, refused and allowed: without a guard, with the policies, with ' +
  'the guard?';

const NO_OP = 'no-op webhook';
const FLOOR = 'policy floor';
const GUARD = 'guard';

/** The first two are the baselines. */
const CANDIDATES = ['no webhook', NO_OP, FLOOR, GUARD] as const;

/** The nodes that name the config. */
const STATES = ['nothing', 'one node', 'every other node'] as const;
type State = (typeof STATES)[number];

interface FloorDeletion extends Deletion {
  readonly state: State;
}

const FULL = [
  { nodes: 5, rounds: 300 },
  { nodes: 500, rounds: 200 },
  { nodes: 2_000, rounds: 100 },
];
const QUICK = [
  { nodes: 5, rounds: 20 },
  { nodes: 100, rounds: 20 },
];

const TABLE = {
  title: 'Dry-run DELETE through a real API server, milliseconds',
  columns: [
    ...createColumns({ nodes: 'nodes', state: 'who has the config', who: 'who decides', answer: 'answer' }),
    ...summaryColumns(1),
    ...createColumns({ timesNone: 'p50 × no webhook', timesNoOp: 'p50 × no-op' }, 1),
  ],
  notes: [
    'One client; the four of a group are measured in turn, each on its own config of the same size (1 kB).',
    'The no-op webhook is node:https and allows everything; it and the guard are processes of their own.',
  ],
};

export async function run(cluster: BenchCluster, isQuick: boolean): Promise<readonly Table[]> {
  const { admin, guarded } = cluster;
  const deletions = await createDeletions(cluster);
  await cluster.limitGuard(GUARD);
  await cluster.startCandidate(NO_OP, nodeProgram('parse'));
  await applyFloor(guarded.controlPlane, FLOOR);
  await awaitFloor(admin, FLOOR);
  await cluster.createPools();
  const configsInUse = (state: State) =>
    deletions.filter((one) => one.state === state && one.answer === 403).map(({ config }) => config);
  await cluster.growFleet(1, configsInUse('one node'));
  const rows: Row[] = [];
  for (const { nodes, rounds } of isQuick ? QUICK : FULL) {
    await cluster.growFleet(nodes, configsInUse('every other node'));
    await awaitAnswers(admin, deletions);
    for (const state of STATES) {
      cluster.log(`${nodes} nodes, a config that ${state} has: ${rounds} rounds …`);
      const measured = deletions.filter((one) => one.state === state);
      rows.push(...(await measureState(cluster, measured, rounds)).map((row) => ({ nodes, ...row })));
    }
  }
  return [{ ...TABLE, rows, notes: [...TABLE.notes, `${await cluster.describeNodeSize()}; 3 pools.`] }];
}

async function createDeletions(cluster: BenchCluster): Promise<readonly FloorDeletion[]> {
  const deletions: FloorDeletion[] = [];
  for (const candidate of CANDIDATES) {
    for (const state of STATES) {
      const isDenied = state !== 'nothing' && (candidate === FLOOR || candidate === GUARD);
      const config = await cluster.createConfig(candidate);
      deletions.push({ candidate, state, config, answer: isDenied ? 403 : 200 });
    }
  }
  return deletions;
}

async function measureState(
  { admin, guarded }: BenchCluster,
  deletions: readonly FloorDeletion[],
  rounds: number,
): Promise<readonly Row[]> {
  const summaries = await measureDeletions(admin, deletions, { rounds });
  await checkDecisionPaths(guarded.guard.log, deletions);
  const [none = Number.NaN, noOp = Number.NaN] = deletions.map(({ config }) => getSummary(summaries, config).p50);
  return deletions.map(({ candidate, config, state, answer }) => {
    const { late, ...summary } = getSummary(summaries, config);
    if (late > 0) throw new Error(`${candidate} did not answer ${late} times in time.`);
    const how = answer === 403 ? 'index and one GET' : 'live read';
    const who = candidate === GUARD ? `${GUARD} (${how})` : candidate;
    return { state, who, answer, ...summary, timesNone: summary.p50 / none, timesNoOp: summary.p50 / noOp };
  });
}
