import { setTimeout as sleep } from 'node:timers/promises';
import { PATHS } from '../../e2e/support/paths.ts';
import type { BenchCluster } from '../bench-cluster.ts';
import { Candidate, goCommand, guardCommand } from '../candidate.ts';
import { awaitAnswers, isInTime, measureDeletions } from '../deletions.ts';
import { NODE_SIZE } from '../fleet.ts';
import { getSummary, interleave } from '../interleave.ts';
import { memoryOf, resetPeak } from '../memory.ts';
import { createColumns, createGoalTable, type Table } from '../table.ts';

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

const GUARD = 'guard';
const SCAN = 'controller-runtime';
const INDEX = 'controller-runtime, indexed';

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
type Figures = ReadonlyMap<Candidate, Partial<Record<Figure, number>>>;

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
  const { controlPlane, guard } = cluster.guarded;
  // All candidates start with the same cluster.
  await cluster.admin.delete(PATHS.guardWebhook);
  await guard.stop();
  cluster.log('Building the webhook on controller-runtime …');
  const candidates = [
    await Candidate.register(cluster, GUARD, guardCommand),
    await Candidate.register(cluster, SCAN, await goCommand(controlPlane, 'scan')),
    await Candidate.register(cluster, INDEX, await goCommand(controlPlane, 'index')),
  ];
  const figures: Figures = new Map(candidates.map((candidate) => [candidate, { late: 0 }]));
  await cluster.growFleet(
    sizes.nodes,
    candidates.map(({ denied }) => denied.config),
  );
  await cluster.createPools();
  cluster.log(`${sizes.starts} starts of each …`);
  await measureStarts(figures, sizes.starts);
  for (const candidate of candidates) {
    await candidate.start();
    await awaitAnswers(cluster.admin, [candidate.denied, candidate.allowed]);
  }
  await sleep(sizes.restMs);
  for (const [{ pid }, own] of figures) {
    own.rest = (await memoryOf(pid)).now;
    await resetPeak(pid);
  }
  await measureDryRuns(cluster, figures, sizes);
  for (const [{ pid }, own] of figures) own.peak = (await memoryOf(pid)).peak;
  for (const [candidate, own] of figures) {
    cluster.log(`${candidate.name}: ${sizes.burst} parallel DELETEs …`);
    Object.assign(own, await measureBurst(cluster, candidate, sizes.burst));
  }
  return createTables([...figures.values()], sizes);
}

async function measureStarts(figures: Figures, rounds: number): Promise<void> {
  const measurements = [...figures.keys()].map((candidate) => {
    const measure = async () => {
      const ms = await candidate.start();
      await candidate.kill();
      return ms;
    };
    return { name: candidate.name, measure };
  });
  const summaries = await interleave(measurements, rounds);
  for (const [{ name }, own] of figures) own.start = getSummary(summaries, name).p50;
}

async function measureDryRuns(
  cluster: BenchCluster,
  figures: Figures,
  { denials, allows, parallels }: Sizes,
): Promise<void> {
  for (const [what, kind, rounds, clients] of [
    ['denial', 'denied', denials, 1],
    ['allow', 'allowed', allows, 1],
    ['parallel', 'allowed', parallels, PARALLEL],
  ] as const) {
    cluster.log(`${what}: ${rounds} rounds …`);
    const deletions = [...figures.keys()].map((candidate) => candidate[kind]);
    const summaries = await measureDeletions(cluster.admin, deletions, { rounds, clients });
    for (const [candidate, own] of figures) {
      const { p50, p99, late } = getSummary(summaries, candidate[kind].config);
      own[what] = p50;
      own[`${what}99`] = p99;
      own.late = (own.late ?? 0) + late;
    }
  }
}

async function measureBurst(cluster: BenchCluster, candidate: Candidate, count: number) {
  const configs: string[] = [];
  while (configs.length < count) configs.push(await candidate.createConfig());
  await resetPeak(candidate.pid);
  const findLists = () =>
    cluster.auditLog.events(
      ({ user, verb, objectRef }) =>
        user.username === candidate.user && verb === 'list' && objectRef?.resource === 'nodes',
    );
  const listsBefore = (await findLists()).length;
  const startedAt = performance.now();
  const responses = await Promise.all(configs.map((config) => cluster.delete(config)));
  return {
    burst: (performance.now() - startedAt) / 1_000,
    burstLate: responses.filter((response) => !isInTime(response, 200)).length,
    burstLists: (await findLists()).length - listsBefore,
    burstPeak: (await memoryOf(candidate.pid)).peak,
  };
}

function createTables(all: readonly Partial<Record<Figure, number>>[], sizes: Sizes): readonly Table[] {
  const { nodes, burst, denials, allows, parallels, starts } = sizes;
  const rows = Object.entries(FIGURES).map(([key, what]) => {
    const [guard = 0, scan = 0, index = 0] = all.map((figures) => figures[key as Figure]);
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
