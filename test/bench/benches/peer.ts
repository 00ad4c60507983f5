import { setTimeout as sleep } from 'node:timers/promises';
import { GUARD_USER } from '../../e2e/support/guarded-cluster.ts';
import { PATHS } from '../../e2e/support/paths.ts';
import type { BenchCluster } from '../bench-cluster.ts';
import { awaitAnswers, type Deletion, isInTime, measureDeletions } from '../deletions.ts';
import { NODE_SIZE } from '../fleet.ts';
import { getSummary, interleave } from '../interleave.ts';
import { memoryOf, resetPeak } from '../memory.ts';
import {
  buildGoWebhook,
  createIdentity,
  goProgram,
  guardProgram,
  prepareWebhook,
  type RunningWebhook,
  type WebhookProgram,
} from '../webhook-process.ts';
import { createColumns, createGoalTable, type Table } from '../table.ts';
import { measureFirstAnswer } from '../first-answer.ts';

export const question = 'How does the guard compare with a webhook in Go on controller-runtime?';

const FULL = {
  nodes: 2_000,
  starts: 5,
  denials: 200,
  allows: 60,
  parallels: 12,
  burst: 300,
  restMs: 15_000,
};
const QUICK = {
  nodes: 50,
  starts: 1,
  denials: 10,
  allows: 10,
  parallels: 2,
  burst: 30,
  restMs: 1_000,
};
type Sizes = typeof FULL;

const PARALLEL = 8;
const CONFIG_BYTES = 8_000;

const GUARD = 'guard';
const SCAN = 'controller-runtime';
const INDEX = 'controller-runtime, indexed';

interface Candidate {
  readonly name: string;
  readonly program: WebhookProgram;
  /** In the audit log. */
  readonly user: string;
  readonly kubeconfig: string;
  /** The deletion of a config that nodes name, and of an unused one. */
  readonly denied: Deletion;
  readonly allowed: Deletion;
  readonly figures: Partial<Record<Figure, number>>;
}

type RunningCandidate = Candidate & { readonly webhook: RunningWebhook };

const FIGURES = {
  start: 'start to first right denial, ms (p50)',
  denial: 'denial, ms (p50)',
  denial99: 'denial, ms (p99)',
  allow: 'allowed, ms (p50)',
  allow99: 'allowed, ms (p99)',
  parallel: `${PARALLEL} allowed in parallel, ms (p50)`,
  parallel99: `${PARALLEL} allowed in parallel, ms (p99)`,
  late: 'of those above, not answered in time',
  rest: 'resident memory at rest, MB',
  peak: 'resident memory at most during those above, MB',
  burst: 'the burst, s until the last answer',
  burstLate: 'the burst, not answered in time',
  burstLists: 'the burst, lists of all nodes',
  burstPeak: 'the burst, resident memory at most, MB',
};

type Figure = keyof typeof FIGURES;

/**
 * Limits of the guard's figures, in times of controller-runtime's. A denial is a call of the webhook and one GET. An
 * allowed deletion lists all nodes, as controller-runtime's does, so most of its time is the API server's. Parallel
 * deletions share lists, but each waits for a list that is sent after its review.
 */
const GOALS: Partial<Record<Figure, number>> = {
  denial: 0.55,
  allow: 0.6,
  parallel: 0.6,
  peak: 0.4,
  burstLists: 0.1,
};

export async function run(cluster: BenchCluster, isQuick: boolean): Promise<readonly Table[]> {
  const sizes = isQuick ? QUICK : FULL;
  // All candidates start with the same cluster.
  await cluster.stopGuard();
  cluster.log('Building the webhook on controller-runtime …');
  const candidates = await createCandidates(cluster);
  const configsInUse = candidates.map(({ denied }) => denied.config);
  await cluster.growFleet(sizes.nodes, configsInUse);
  await cluster.createPools();
  cluster.log(`${sizes.starts} starts of each …`);
  await measureStarts(cluster, candidates, sizes.starts);
  const running: RunningCandidate[] = [];
  for (const candidate of candidates) {
    const webhook = await cluster.startCandidate(candidate.name, candidate.program, candidate.kubeconfig);
    await awaitAnswers(cluster.admin, [candidate.denied, candidate.allowed]);
    running.push({ ...candidate, webhook });
  }
  await sleep(sizes.restMs);
  for (const { webhook, figures } of running) {
    figures.rest = (await memoryOf(webhook.pid)).now;
    await resetPeak(webhook.pid);
  }
  await measureDryRuns(cluster, running, sizes);
  for (const { webhook, figures } of running) figures.peak = (await memoryOf(webhook.pid)).peak;
  for (const candidate of running) {
    cluster.log(`${candidate.name}: ${sizes.burst} parallel DELETEs …`);
    await measureBurst(cluster, candidate, sizes.burst);
  }
  return createTables(candidates, sizes);
}

async function createCandidates(cluster: BenchCluster): Promise<readonly Candidate[]> {
  const { controlPlane } = cluster.guarded;
  const { kubeconfig } = cluster.guarded.guard;
  const goBinary = await buildGoWebhook(controlPlane);
  const candidates: Candidate[] = [];
  for (const [name, program, identity] of [
    [GUARD, guardProgram(), { user: GUARD_USER, kubeconfig }],
    [SCAN, goProgram(goBinary, 'scan'), await createIdentity(controlPlane, 'scan')],
    [INDEX, goProgram(goBinary, 'index'), await createIdentity(controlPlane, 'index')],
  ] as const) {
    const createConfig = () => cluster.createConfig(name, CONFIG_BYTES);
    const denied = { candidate: name, config: await createConfig(), answer: 403 } as const;
    const allowed = { candidate: name, config: await createConfig(), answer: 200 } as const;
    candidates.push({ name, program, ...identity, denied, allowed, figures: { late: 0 } });
  }
  return candidates;
}

async function measureStarts(cluster: BenchCluster, candidates: readonly Candidate[], rounds: number): Promise<void> {
  const measureStart = async ({ program, kubeconfig, denied }: Candidate) => {
    const review = await cluster.buildReview(denied.config);
    const prepared = await prepareWebhook(cluster.guarded.controlPlane, program, kubeconfig);
    return await measureFirstAnswer(prepared, review, prepared.start);
  };
  const measurements = candidates.map((one) => ({ name: one.name, measure: () => measureStart(one) }));
  const summaries = await interleave(measurements, rounds);
  for (const { name, figures } of candidates) figures.start = getSummary(summaries, name).p50;
}

async function measureDryRuns(
  cluster: BenchCluster,
  candidates: readonly RunningCandidate[],
  { denials, allows, parallels }: Sizes,
): Promise<void> {
  for (const [what, kind, rounds, clients] of [
    ['denial', 'denied', denials, 1],
    ['allow', 'allowed', allows, 1],
    ['parallel', 'allowed', parallels, PARALLEL],
  ] as const) {
    cluster.log(`${what}: ${rounds} rounds …`);
    const deletions = candidates.map((candidate) => candidate[kind]);
    const summaries = await measureDeletions(cluster.admin, deletions, { rounds, clients });
    for (const candidate of candidates) {
      const { p50, p99, late } = getSummary(summaries, candidate[kind].config);
      candidate.figures[what] = p50;
      candidate.figures[`${what}99`] = p99;
      candidate.figures.late = (candidate.figures.late ?? 0) + late;
    }
  }
}

async function measureBurst(cluster: BenchCluster, candidate: RunningCandidate, count: number): Promise<void> {
  const { name, user, webhook, figures } = candidate;
  const configs: string[] = [];
  while (configs.length < count) configs.push(await cluster.createConfig(name, CONFIG_BYTES));
  await resetPeak(webhook.pid);
  const listsBefore = await cluster.countNodeLists(user);
  const startedAt = performance.now();
  const paths = configs.map((config) => `${PATHS.configs}/${config}`);
  const responses = await Promise.all(paths.map((path) => cluster.admin.delete(path)));
  figures.burst = (performance.now() - startedAt) / 1_000;
  figures.burstLate = responses.filter((response) => !isInTime(response, 200)).length;
  figures.burstLists = (await cluster.countNodeLists(user)) - listsBefore;
  figures.burstPeak = (await memoryOf(webhook.pid)).peak;
}

function createTables(candidates: readonly Candidate[], sizes: Sizes): readonly Table[] {
  const { nodes, burst, denials, allows, parallels, starts } = sizes;
  const rows = Object.entries(FIGURES).map(([key, what]) => {
    const [guard = 0, scan = 0, index = 0] = candidates.map(({ figures }) => figures[key as Figure]);
    const timesScan = scan === 0 ? null : guard / scan;
    const timesIndex = index === 0 ? null : guard / index;
    return { key, what, guard, scan, index, timesScan, timesIndex };
  });
  const goals = Object.entries(GOALS).map(([goal, atMost]) => {
    const { what = '', timesScan } = rows.find(({ key }) => key === goal) ?? {};
    return { what, found: timesScan ?? Number.NaN, atMost };
  });
  const table = {
    title: `The guard and controller-runtime, ${nodes.toLocaleString('en-US')} nodes`,
    columns: [
      ...createColumns({ what: 'what' }),
      ...createColumns({ guard: GUARD, scan: SCAN, index: INDEX }, 1),
      ...createColumns({ timesScan: `guard × ${SCAN}`, timesIndex: 'guard × indexed' }, 2),
    ],
    rows,
    notes: [
      `Dry runs: ${denials} denials, ${allows} allowed, ${parallels} × ${PARALLEL} allowed in parallel.`,
      `${starts} starts. The burst: ${burst} parallel DELETEs.`,
      'controller-runtime 0.21 in Go, without its limit of 20 requests a second. It denies from its cache of ' +
        'metadata and allows after a list of nodes and pools. Indexed: the cache has an index of configs.',
      'The guard also gets the node of a denial again, lists builds, lists pools twice, and logs.',
      'Late: more than 5 s (API server) or 4 s (guard). Memory: VmRSS and VmHWM, MB are 10⁶ bytes.',
      `${NODE_SIZE} Two of three nodes name a config in use.`,
    ],
  };
  const start = { what: 'guard alone: start to first right denial, ms', found: rows[0]?.guard ?? NaN, atMost: 1_000 };
  return [table, createGoalTable('The guard × controller-runtime', [...goals, start])];
}
