import { BINDINGS } from '../../e2e/support/floor.ts';
import { kubectlOk } from '../../e2e/support/kubectl.ts';
import { overlay } from '../../e2e/support/overlays.ts';
import { type BenchCluster, labelsOf } from '../bench-cluster.ts';
import { awaitAnswers, type Deletion, measureDeletions } from '../deletions.ts';
import { NODE_SIZE, nodeName } from '../fleet.ts';
import { getSummary } from '../interleave.ts';
import { createIdentity, nodeProgram } from '../peers/webhook-process.ts';
import { createColumns, createGoalTable, type Goal, type Row, summaryColumns, type Table } from '../table.ts';

export const question =
  'How long does the deletion of a rendered config take, compared with minimal webhooks and the policies?';

const NO_OP = 'no-op, node:https';
const GET_AND_DENY = 'one GET and deny, node:https';
const GUARD = 'guard';
const FLOOR = 'policy floor';

interface Scenario extends Omit<Deletion, 'config'> {
  readonly isInUse: boolean;
  /** How the candidate decides. */
  readonly how?: string;
}

const SCENARIOS: readonly Scenario[] = [
  { candidate: 'no webhook', isInUse: false, answer: 200 },
  { candidate: NO_OP, isInUse: false, answer: 200 },
  { candidate: GET_AND_DENY, isInUse: false, answer: 403 },
  { candidate: GUARD, isInUse: true, answer: 403, how: 'index and one GET' },
  { candidate: FLOOR, isInUse: true, answer: 403 },
  { candidate: GUARD, isInUse: false, answer: 200, how: 'live read' },
  { candidate: FLOOR, isInUse: false, answer: 200 },
];

/** A usual config and a large one. etcd stores at most 1.5 MB. */
const BYTES = { '8 kB': 8_000, '1.2 MB': 1_200_000 } as const;
type Size = keyof typeof BYTES;

type SizedDeletion = Scenario & Deletion & { readonly size: Size };

interface Case {
  readonly nodes: number;
  readonly dryRun?: boolean;
  readonly size?: Size;
  /** Parallel requests. */
  readonly clients?: number;
  readonly rounds: number;
  /** Rounds of the policies, which take 0.25 ms a node. */
  readonly floorRounds?: number;
}

const FULL: readonly Case[] = [
  { nodes: 5, rounds: 200, floorRounds: 200 },
  { nodes: 500, rounds: 100, floorRounds: 20 },
  { nodes: 2_000, rounds: 50, floorRounds: 10 },
  { nodes: 2_000, rounds: 15, clients: 8 },
  { nodes: 2_000, rounds: 30, size: '1.2 MB' },
  { nodes: 2_000, rounds: 8, size: '1.2 MB', clients: 8 },
  { nodes: 2_000, rounds: 40, dryRun: false },
  { nodes: 2_000, rounds: 20, dryRun: false, size: '1.2 MB' },
  { nodes: 5_000, rounds: 60 },
];
const QUICK: readonly Case[] = [
  { nodes: 5, rounds: 10, floorRounds: 5 },
  { nodes: 50, rounds: 2, size: '1.2 MB', clients: 8 },
  { nodes: 50, rounds: 5, dryRun: false },
];
/** Limit of a denial by the guard, in times of {@link GET_AND_DENY}. */
const DENIAL_GOAL = 1.3;

const TABLE = {
  title: 'Deletion of one rendered config through a real API server, milliseconds',
  columns: [
    ...createColumns({ nodes: 'nodes', what: 'request', size: 'config', clients: 'clients' }),
    ...createColumns({ who: 'who decides', answer: 'answer' }),
    ...summaryColumns(1),
    ...createColumns({ late: 'not in time' }),
    ...createColumns({ timesNoOp: 'p50 × no-op, node:https', timesDenier: 'p50 × one GET and deny' }, 2),
  ],
  notes: [
    'Every webhook is a process beside the API server. All of a group are measured in turn.',
    '8 clients delete the same config in parallel. DELETE: each config is created again.',
    `Every fourth node names a config in use. ${NODE_SIZE}`,
    'Not in time: denied because the webhook did not answer within 5 s.',
  ],
};

export async function run(cluster: BenchCluster, isQuick: boolean): Promise<readonly Table[]> {
  const deletions = await createDeletions(cluster);
  const configsInUse = deletions.filter(({ isInUse }) => isInUse).map(({ config }) => config);
  await cluster.createPools();
  await cluster.growFleet(1, configsInUse);
  await startCandidates(cluster);
  const rows: Row[] = [];
  const goals: Goal[] = [];
  for (const testCase of isQuick ? QUICK : FULL) {
    await cluster.growFleet(testCase.nodes, configsInUse);
    cluster.log(`${formatCase(testCase)}: ${testCase.rounds} rounds …`);
    const caseRows = await measureCase(cluster, testCase, deletions);
    rows.push(...caseRows);
    const denial = caseRows.find(({ who }) => who === `${GUARD} (index and one GET)`);
    goals.push({
      what: formatCase(testCase),
      found: Number(denial?.['timesDenier']),
      atMost: DENIAL_GOAL,
    });
  }
  return [{ ...TABLE, rows }, createGoalTable('A denial by the guard × one GET and deny, node:https (p50)', goals)];
}

async function createDeletions(cluster: BenchCluster): Promise<readonly SizedDeletion[]> {
  const sizes = Object.keys(BYTES) as Size[];
  const create = async (scenario: Scenario, size: Size) => {
    const config = await cluster.createConfig(scenario.candidate, BYTES[size]);
    return { ...scenario, size, config };
  };
  return await Promise.all(sizes.flatMap((size) => SCENARIOS.map((one) => create(one, size))));
}

async function startCandidates(cluster: BenchCluster): Promise<void> {
  const { controlPlane } = cluster.guarded;
  await cluster.limitGuard(GUARD);
  await cluster.startCandidate(NO_OP, nodeProgram('parse'));
  const { kubeconfig } = await createIdentity(controlPlane, 'get-and-deny');
  await cluster.startCandidate(GET_AND_DENY, nodeProgram('get', nodeName(0)), kubeconfig);
  await kubectlOk(controlPlane, ['apply', '--kustomize', overlay('policy-floor')]);
  const objectSelector = { matchLabels: labelsOf(FLOOR) };
  for (const policy of ['nodes', 'pools']) {
    const path = `${BINDINGS}/${policy}.machineconfig-guard.io`;
    await cluster.admin.patch(path, { spec: { matchResources: { objectSelector } } });
  }
}

async function measureCase(
  cluster: BenchCluster,
  { nodes, dryRun = true, size = '8 kB', clients = 1, rounds, floorRounds = 0 }: Case,
  deletions: readonly SizedDeletion[],
): Promise<readonly Row[]> {
  const { admin } = cluster;
  const ofSize = deletions.filter((deletion) => deletion.size === size);
  const others = ofSize.filter(({ candidate }) => candidate !== FLOOR);
  const floor = ofSize.filter(({ candidate }) => candidate === FLOOR && floorRounds > 0);
  const measured = ofSize.filter((deletion) => others.includes(deletion) || floor.includes(deletion));
  await awaitAnswers(admin, measured);
  const recreate = ({ candidate }: SizedDeletion) => cluster.createConfig(candidate, BYTES[size]);
  const options = { clients, ...(dryRun ? {} : { recreate }) };
  const summaries = new Map([
    ...(await measureDeletions(admin, others, { ...options, rounds })),
    ...(await measureDeletions(admin, floor, { ...options, rounds: floorRounds })),
  ]);
  const [noOp = Number.NaN, denier = Number.NaN] = [NO_OP, GET_AND_DENY].map((name) => {
    const config = measured.find(({ candidate }) => candidate === name)?.config;
    return getSummary(summaries, config ?? '').p50;
  });
  return measured.map(({ candidate, answer, how, config }) => {
    const summary = getSummary(summaries, config);
    const who = how === undefined ? candidate : `${candidate} (${how})`;
    const timesDenier = answer === 403 ? summary.p50 / denier : null;
    return {
      nodes,
      what: dryRun ? 'dry-run' : 'DELETE',
      size,
      clients,
      who,
      answer,
      ...summary,
      timesNoOp: summary.p50 / noOp,
      timesDenier,
    };
  });
}

function formatCase({ nodes, dryRun = true, size = '8 kB', clients = 1 }: Case): string {
  const parallel = clients === 1 ? '1 client' : `${clients} clients`;
  return `${nodes.toLocaleString('en-US')} nodes, ${dryRun ? 'dry-run' : 'DELETE'}, ${size}, ${parallel}`;
}
