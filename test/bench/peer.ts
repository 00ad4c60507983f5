import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../e2e/support/cluster.ts';
import type { GuardedCluster } from '../e2e/support/guarded-cluster.ts';
import { renderedName } from '../e2e/support/objects.ts';
import { PATHS } from '../e2e/support/paths.ts';
import { Candidate, goCommand, guardCommand } from './candidate.ts';
import { awaitAnswers, type Deletion, isInTime, measureDeletions } from './deletions.ts';
import { createFleet, NODE_SIZE } from './fleet.ts';
import { getSummary, interleave } from './interleave.ts';
import { memoryOf, resetPeak } from './memory.ts';
import { formatNumber, type Table } from './table.ts';

const FULL = {
  nodes: 2_000,
  manyNodes: 5_000,
  starts: 5,
  denials: 200,
  allows: 60,
  parallels: 12,
  burst: 300,
  restMs: 15_000,
};
const QUICK = {
  nodes: 50,
  manyNodes: 100,
  starts: 1,
  denials: 10,
  allows: 10,
  parallels: 2,
  burst: 30,
  restMs: 1_000,
};
type Sizes = typeof FULL;

const PARALLEL = 8;

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
  large: 'in the large cluster, allowed, ms (p50)',
  largePeak: 'in the large cluster, resident memory at most, MB',
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

/** @throws Error if an answer is wrong */
export async function comparePeer(
  guarded: GuardedCluster,
  isQuick: boolean,
  log: (line: string) => void,
): Promise<Table> {
  const sizes = isQuick ? QUICK : FULL;
  const { cluster, controlPlane } = guarded;
  // All candidates start with the same cluster.
  await cluster.admin.delete(PATHS.guardWebhook);
  await guarded.guard.stop();
  log('Building the webhook on controller-runtime …');
  const candidates = [
    await Candidate.register(guarded, 'guard', guardCommand),
    await Candidate.register(guarded, 'controller-runtime', await goCommand(controlPlane, 'scan')),
    await Candidate.register(guarded, 'controller-runtime, indexed', await goCommand(controlPlane, 'index')),
  ];
  const figures: Figures = new Map(candidates.map((candidate) => [candidate, { late: 0 }]));
  const configs = candidates.map(({ denied }) => denied.config);
  log(`Creating ${sizes.nodes} nodes …`);
  await createFleet(cluster.admin, { to: sizes.nodes, configs });
  for (const name of ['master', 'worker', 'infra']) await cluster.pool({ name, spec: renderedName(name) });
  log(`${sizes.starts} starts of each …`);
  await measureStarts(figures, sizes.starts);
  for (const candidate of candidates) {
    await candidate.start();
    await awaitAnswers(cluster, [candidate.denied, candidate.allowed]);
  }
  await sleep(sizes.restMs);
  for (const [{ pid }, own] of figures) own.rest = (await memoryOf(pid)).now;
  log('Dry runs …');
  const [denied, allowed] = [candidates.map((one) => one.denied), candidates.map((one) => one.allowed)];
  await resetPeaks(figures);
  await measureDryRuns(cluster, figures, 'denial', denied, { rounds: sizes.denials, clients: 1 });
  await measureDryRuns(cluster, figures, 'allow', allowed, { rounds: sizes.allows, clients: 1 });
  await measureDryRuns(cluster, figures, 'parallel', allowed, { rounds: sizes.parallels, clients: PARALLEL });
  for (const [{ pid }, own] of figures) own.peak = (await memoryOf(pid)).peak;
  for (const [candidate, own] of figures) {
    log(`${candidate.name}: ${sizes.burst} parallel DELETEs …`);
    Object.assign(own, await measureBurst(cluster, candidate, sizes.burst));
  }
  log(`Creating more nodes, until there are ${sizes.manyNodes} …`);
  await createFleet(cluster.admin, { from: sizes.nodes, to: sizes.manyNodes, configs });
  await sleep(sizes.restMs);
  await resetPeaks(figures);
  await measureDryRuns(cluster, figures, 'large', allowed, { rounds: sizes.parallels, clients: 1 });
  for (const [{ pid }, own] of figures) own.largePeak = (await memoryOf(pid)).peak;
  return createTable([...figures], sizes);
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

async function resetPeaks(figures: Figures): Promise<void> {
  await Promise.all([...figures.keys()].map(({ pid }) => resetPeak(pid)));
}

async function measureDryRuns(
  cluster: Cluster,
  figures: Figures,
  what: 'denial' | 'allow' | 'parallel' | 'large',
  deletions: readonly Deletion[],
  load: { readonly rounds: number; readonly clients: number },
): Promise<void> {
  const summaries = await measureDeletions(cluster, deletions, load);
  for (const [index, own] of [...figures.values()].entries()) {
    const { p50, p99, late } = getSummary(summaries, deletions[index]?.config ?? '');
    Object.assign(own, { [what]: p50, [`${what}99`]: p99, late: (own.late ?? 0) + late });
  }
}

async function measureBurst(cluster: Cluster, candidate: Candidate, count: number) {
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

function createTable(figures: readonly (readonly [Candidate, Partial<Record<Figure, number>>])[], sizes: Sizes): Table {
  const { nodes, manyNodes, burst, denials, allows, parallels, starts } = sizes;
  const rows = (Object.keys(FIGURES) as readonly Figure[]).map((key) => {
    const [guard, ...peers] = figures.map(([, own]) => own[key] ?? Number.NaN);
    const ratios = peers.map((peer) => formatNumber((guard ?? Number.NaN) / peer, 2));
    return [
      FIGURES[key],
      ...[guard, ...peers].map((value) => formatNumber(value, 1)),
      ...ratios,
      formatNumber(GOALS[key], 2),
    ];
  });
  const names = figures.map(([{ name }]) => name);
  const ratios = names.slice(1).map((name) => `guard × ${name}`);
  return {
    title: `The guard and controller-runtime, ${formatNumber(nodes)} nodes`,
    columns: ['what', ...names, ...ratios, 'goal of the first ratio, at most'],
    rows,
    notes: [
      `- Dry runs: ${denials} denials, ${allows} allowed, ${parallels} × ${PARALLEL} allowed in parallel.`,
      `- ${starts} starts. The burst: ${burst} parallel DELETEs. The large cluster: ${formatNumber(manyNodes)} nodes.`,
      '- controller-runtime 0.21 in Go, without its limit of 20 requests a second. It denies from its cache of ' +
        'metadata and allows after a list of nodes and pools. Indexed: the cache has an index of configs.',
      '- The guard also gets the node of a denial again, lists builds, lists pools twice, and logs.',
      '- Late: more than 5 s (API server) or 4 s (guard). Memory: VmRSS and VmHWM, MB are 10⁶ bytes.',
      `- ${NODE_SIZE} Two of three nodes name a config in use.`,
    ],
  };
}
