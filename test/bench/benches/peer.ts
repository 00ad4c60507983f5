import { setTimeout as sleep } from 'node:timers/promises';
import { GUARD_USER } from '../../e2e/support/guarded-cluster.ts';
import { PATHS } from '../../e2e/support/paths.ts';
import type { BenchCluster } from '../bench-cluster.ts';
import { awaitAnswers, checkDecisionPaths, type Deletion, isInTime, measureDeletions } from '../deletions.ts';
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
} from '../peers/webhook-process.ts';
import { createColumns, type Row, type Table } from '../table.ts';
import { buildReview, type ReviewResponse, WebhookClient } from '../webhook-client.ts';

export const question = 'How does the guard compare with the same rule as a webhook in Go on controller-runtime?';

const FULL = { nodes: 2_000, starts: 5, denials: 200, allows: 60, parallels: 12, burst: 300, restMs: 15_000 } as const;
const QUICK = { nodes: 50, starts: 1, denials: 10, allows: 10, parallels: 2, burst: 30, restMs: 1_000 } as const;
type Sizes = typeof FULL | typeof QUICK;

/** Requests at the same moment. */
const PARALLEL = 8;
/** The rendered config of a small pool. */
const CONFIG_BYTES = 8_000;

const GUARD = 'guard';
const SCAN = 'controller-runtime';
const INDEX = 'controller-runtime, indexed';

interface Candidate {
  readonly name: string;
  readonly program: WebhookProgram;
  /** The user in the audit log, and a kubeconfig file. */
  readonly user: string;
  readonly kubeconfig: string;
  /** The deletion of a config that nodes name, and of an unused one. */
  readonly denied: Deletion;
  readonly allowed: Deletion;
  readonly figures: Partial<Record<Figure, number>>;
}

type RunningCandidate = Candidate & { readonly webhook: RunningWebhook };

/** `goal`: the limit of the guard's figure, in times of controller-runtime's unless it is absolute. */
const FIGURES = [
  { key: 'start', what: 'start to first right refusal, ms (p50)' },
  { key: 'denial', what: 'denial, ms (p50)', goal: 0.25 },
  { key: 'denial99', what: 'denial, ms (p99)' },
  { key: 'allow', what: 'allowed, ms (p50)', goal: 0.5 },
  { key: 'allow99', what: 'allowed, ms (p99)' },
  { key: 'parallel', what: `${PARALLEL} allowed at the same time, ms (p50 of each)`, goal: 0.25 },
  { key: 'parallel99', what: `${PARALLEL} allowed at the same time, ms (p99 of each)` },
  { key: 'late', what: 'of those above, not answered in time' },
  { key: 'rest', what: 'resident memory at rest, MB' },
  { key: 'peak', what: 'resident memory at most during those above, MB', goal: 0.4 },
  { key: 'burst', what: 'the parallel DELETEs, s until the last answer' },
  { key: 'burstLate', what: 'the parallel DELETEs, not answered in time' },
  { key: 'burstLists', what: 'the parallel DELETEs, lists of all nodes', goal: 3, isAbsolute: true },
  { key: 'burstPeak', what: 'the parallel DELETEs, resident memory at most, MB' },
] as const satisfies readonly { key: string; what: string; goal?: number; isAbsolute?: boolean }[];

type Figure = (typeof FIGURES)[number]['key'];

export async function run(cluster: BenchCluster, isQuick: boolean): Promise<readonly Table[]> {
  const sizes = isQuick ? QUICK : FULL;
  // The guard of the cluster would have seen it grow. All candidates start afresh.
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
  return [createTable(candidates, sizes, await cluster.describeNodeSize())];
}

async function createCandidates(cluster: BenchCluster): Promise<readonly Candidate[]> {
  const { controlPlane, kubeconfig } = cluster.guarded;
  const goBinary = await buildGoWebhook(controlPlane);
  const candidates: Candidate[] = [];
  for (const [name, program, identity] of [
    [GUARD, guardProgram(), { user: GUARD_USER, kubeconfig }],
    [SCAN, goProgram(goBinary, 'scan'), await createIdentity(controlPlane, 'scan')],
    [INDEX, goProgram(goBinary, 'index'), await createIdentity(controlPlane, 'index')],
  ] as const) {
    const configs = [await cluster.createConfig(name, CONFIG_BYTES), await cluster.createConfig(name, CONFIG_BYTES)];
    const [used = '', unused = ''] = configs;
    const denied = { candidate: name, config: used, answer: 403 } as const;
    const allowed = { candidate: name, config: unused, answer: 200 } as const;
    candidates.push({ name, program, ...identity, denied, allowed, figures: { late: 0 } });
  }
  return candidates;
}

async function measureStarts(cluster: BenchCluster, candidates: readonly Candidate[], rounds: number): Promise<void> {
  const measurements = candidates.map(({ name, program, kubeconfig, denied }) => ({
    name,
    measure: async () => {
      const prepared = await prepareWebhook(cluster.guarded.controlPlane, program, kubeconfig);
      const client = new WebhookClient(prepared);
      return await client.measureFirstAnswer(buildReview(denied.config), isDeniedAsInUse, prepared.start);
    },
  }));
  const summaries = await interleave(measurements, { rounds, warmUp: 1 });
  for (const { name, figures } of candidates) figures.start = getSummary(summaries, name).p50;
}

/** Until its cache is filled, a webhook may deny because it cannot know. It must not allow. */
function isDeniedAsInUse({ allowed, status }: ReviewResponse): boolean {
  if (allowed) throw new Error('The deletion of a config in use was allowed.');
  return status?.message?.includes('is in use by') === true;
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
  for (const { webhook, denied, allowed } of candidates) await checkDecisionPaths(webhook.log, [denied, allowed]);
}

/** Deletes many unused configs at the same moment. */
async function measureBurst(cluster: BenchCluster, candidate: RunningCandidate, count: number): Promise<void> {
  const { name, user, webhook, figures } = candidate;
  const configs: string[] = [];
  while (configs.length < count) configs.push(await cluster.createConfig(name, CONFIG_BYTES));
  await resetPeak(webhook.pid);
  const listsBefore = await cluster.countNodeLists(user);
  const startedAt = performance.now();
  const responses = await Promise.all(configs.map((config) => cluster.admin.delete(`${PATHS.configs}/${config}`)));
  figures.burst = (performance.now() - startedAt) / 1_000;
  figures.burstLate = responses.filter((response) => !isInTime(response, { candidate: name, answer: 200 })).length;
  figures.burstLists = (await cluster.countNodeLists(user)) - listsBefore;
  figures.burstPeak = (await memoryOf(webhook.pid)).peak;
}

function createRow(candidates: readonly Candidate[], figure: (typeof FIGURES)[number]): Row {
  const [guard = 0, scan = 0, index = 0] = candidates.map(({ figures }) => figures[figure.key]);
  const timesScan = scan === 0 ? null : guard / scan;
  const timesIndex = index === 0 ? null : guard / index;
  const row = { what: figure.what, guard, scan, index, timesScan, timesIndex };
  if (!('goal' in figure)) return { ...row, goal: '', reached: '' };
  const isAbsolute = 'isAbsolute' in figure;
  const isReached = (isAbsolute ? guard : (timesScan ?? 0)) <= figure.goal;
  return { ...row, goal: `${isAbsolute ? '' : '× '}${figure.goal}`, reached: isReached ? 'yes' : 'no' };
}

function createTable(candidates: readonly Candidate[], sizes: Sizes, nodeSize: string): Table {
  const { nodes, burst, denials, allows, parallels, starts } = sizes;
  return {
    title: `The guard and controller-runtime, ${nodes.toLocaleString('en-US')} nodes`,
    columns: [
      ...createColumns({ what: 'what' }),
      ...createColumns({ guard: GUARD, scan: SCAN, index: INDEX }, 1),
      ...createColumns({ timesScan: `guard × ${SCAN}`, timesIndex: 'guard × indexed' }, 2),
      ...createColumns({ goal: 'at most', reached: 'reached' }),
    ],
    rows: FIGURES.map((figure) => createRow(candidates, figure)),
    notes: [
      `Dry-run DELETE of an 8 kB config through the same API server, in turn: ${denials} denials, ${allows} allowed, ` +
        `${parallels} × ${PARALLEL} allowed at the same time; ${starts} starts; ${burst} parallel DELETEs of as many ` +
        'configs, for real.',
      'All are processes of their own with the same rights. Those in Go: test/bench/peers/controller-runtime, ' +
        'controller-runtime 0.21, nodes and pools; they deny by their cache of metadata and allow after a list of ' +
        'their own, without its limit of 20 requests a second. Indexed: the cache is asked for one object that names ' +
        'the config, instead of for everything.',
      'The guard does more for its answer: it reads the node that its denial names once more, reads builds too, and ' +
        'pools twice, and writes a log line for each.',
      'Start: asked directly over TLS from the start of the process on, until it refuses because of a node. Lists of ' +
        'nodes: by the audit log of the API server.',
      'What is not answered within 5 seconds is refused: by the API server, or after 4 by the guard itself. Its time ' +
        'counts. Memory: VmRSS and VmHWM of /proc, MB are 10⁶ bytes.',
      `${nodeSize}; 3 pools; a config in use is named by two nodes of three.`,
    ],
  };
}
