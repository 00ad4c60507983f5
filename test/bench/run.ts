import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { KubeResponse } from '../e2e/control-plane/kube-client.ts';
import type { AuditEvent } from '../e2e/support/audit-log.ts';
import type { Cluster } from '../e2e/support/cluster.ts';
import { type GuardedCluster, startGuardedCluster } from '../e2e/support/guarded-cluster.ts';
import { renderedName } from '../e2e/support/objects.ts';
import { PATHS } from '../e2e/support/paths.ts';
import { log, prepareRun, runCommand } from '../e2e/support/runner.ts';
import { type Candidate, goCommand, guardCommand, registerCandidate } from './candidate.ts';
import { createFleet, NODE_SIZE } from './fleet.ts';
import { interleave } from './interleave.ts';
import { memoryOf, resetPeak } from './memory.ts';
import { describeEnvironment, formatNumber, formatReport, type Table } from './report.ts';

const QUESTION = 'How does the guard compare with a webhook in Go on controller-runtime?';
const HELP = `Compares the guard with the same rule on controller-runtime.

Usage: npm run --silent bench > test/bench/results/peer.md

Options:
  --help   print this text
  --quick  run small cases whose figures mean nothing
`;

const FULL = { nodes: 2_000, starts: 5, denials: 200, allows: 60, parallels: 12, burst: 300, restMs: 15_000 };
const QUICK: typeof FULL = { nodes: 50, starts: 1, denials: 10, allows: 10, parallels: 2, burst: 30, restMs: 1_000 };

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
};

type Figure = keyof typeof FIGURES;
type Figures = ReadonlyMap<Candidate, Partial<Record<Figure, number>>>;

async function main(): Promise<number> {
  const { values: flags } = parseArgs({
    options: { quick: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
  });
  if (flags.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const { release } = await prepareRun();
  const environment = describeEnvironment(release);
  const startedAt = performance.now();
  const guarded = await startGuardedCluster({ direct: true });
  try {
    const table = await comparePeer(guarded, flags.quick ? QUICK : FULL);
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    const command = `npm run bench${flags.quick ? ' -- --quick' : ''}`;
    process.stdout.write(formatReport({ question: QUESTION, command, environment, seconds, tables: [table] }));
  } finally {
    await guarded.stop();
  }
  return 0;
}

/** @throws Error if an answer is wrong */
async function comparePeer(guarded: GuardedCluster, sizes: typeof FULL): Promise<Table> {
  const { cluster, controlPlane } = guarded;
  // All candidates start with the same cluster.
  await cluster.admin.delete(PATHS.guardWebhook);
  await guarded.guard.stop();
  log('Building the webhook on controller-runtime …');
  const candidates = [
    await registerCandidate(guarded, 'guard', guardCommand),
    await registerCandidate(guarded, 'controller-runtime', await goCommand(controlPlane, 'scan')),
    await registerCandidate(guarded, 'controller-runtime, indexed', await goCommand(controlPlane, 'index')),
  ];
  const figures: Figures = new Map(candidates.map((candidate) => [candidate, { late: 0 }]));
  log(`Creating ${sizes.nodes} nodes …`);
  const usedConfigs = candidates.map(({ used }) => used);
  await createFleet(cluster.admin, sizes.nodes, usedConfigs);
  for (const name of ['master', 'worker', 'infra']) await cluster.pool({ name, spec: renderedName(name) });
  log(`${sizes.starts} starts of each …`);
  await measureStarts(figures, sizes.starts);
  for (const candidate of candidates) await candidate.start();
  await sleep(sizes.restMs);
  for (const [{ getPid }, own] of figures) own.rest = (await memoryOf(getPid())).now;
  log('Dry runs …');
  for (const { getPid } of candidates) await resetPeak(getPid());
  await measureDryRuns(cluster, figures, 'denial', { rounds: sizes.denials, clients: 1 });
  await measureDryRuns(cluster, figures, 'allow', { rounds: sizes.allows, clients: 1 });
  await measureDryRuns(cluster, figures, 'parallel', { rounds: sizes.parallels, clients: PARALLEL });
  for (const [{ getPid }, own] of figures) own.peak = (await memoryOf(getPid())).peak;
  for (const [candidate, own] of figures) {
    log(`${candidate.name}: ${sizes.burst} parallel DELETEs …`);
    Object.assign(own, await measureBurst(cluster, candidate, sizes.burst));
  }
  return createTable(figures, sizes);
}

async function measureStarts(figures: Figures, rounds: number): Promise<void> {
  const measurements = [...figures.keys()].map((candidate) => async () => {
    const ms = await candidate.start();
    await candidate.kill();
    return [ms];
  });
  const summaries = await interleave(measurements, rounds);
  for (const [index, own] of [...figures.values()].entries()) Object.assign(own, { start: summaries[index]?.p50 });
}

async function measureDryRuns(
  cluster: Cluster,
  figures: Figures,
  what: 'denial' | 'allow' | 'parallel',
  { rounds, clients }: { readonly rounds: number; readonly clients: number },
): Promise<void> {
  const measurements = [...figures].map(([{ used, unused }, own]) => async () => {
    const [config, answer] = what === 'denial' ? ([used, 403] as const) : ([unused, 200] as const);
    const responses = await Promise.all(Array.from({ length: clients }, () => cluster.dryRun(config)));
    own.late = (own.late ?? 0) + countLate(responses, answer);
    return responses.map(({ ms }) => ms);
  });
  const summaries = await interleave(measurements, rounds);
  for (const [index, own] of [...figures.values()].entries()) {
    Object.assign(own, { [what]: summaries[index]?.p50, [`${what}99`]: summaries[index]?.p99 });
  }
}

async function measureBurst(cluster: Cluster, candidate: Candidate, count: number) {
  const configs: string[] = [];
  while (configs.length < count) configs.push(await candidate.createConfig());
  await resetPeak(candidate.getPid());
  const isList = ({ user, verb, objectRef }: AuditEvent) =>
    user.username === candidate.user && verb === 'list' && objectRef?.resource === 'nodes';
  const countLists = async () => (await cluster.auditEvents(isList)).length;
  const listsBefore = await countLists();
  const startedAt = performance.now();
  const responses = await Promise.all(configs.map((config) => cluster.delete(config)));
  return {
    burst: (performance.now() - startedAt) / 1_000,
    burstLate: countLate(responses, 200),
    burstLists: (await countLists()) - listsBefore,
    burstPeak: (await memoryOf(candidate.getPid())).peak,
  };
}

/**
 * Counts the deletions that were denied after a timeout.
 *
 * @throws Error if an answer is wrong
 */
function countLate(responses: readonly KubeResponse[], answer: 200 | 403): number {
  const late = responses.filter(({ status }) => status !== answer);
  for (const { status, body } of late) {
    if (status >= 500) continue;
    throw new Error(`The answer is ${status}, not ${answer}: ${JSON.stringify(body).slice(0, 500)}`);
  }
  return late.length;
}

function createTable(figures: Figures, { nodes, burst, denials, allows, parallels, starts }: typeof FULL): Table {
  const rows = (Object.keys(FIGURES) as readonly Figure[]).map((key) => {
    const [guard = Number.NaN, ...peers] = [...figures.values()].map((own) => own[key] ?? Number.NaN);
    const ratios = peers.map((peer) => formatNumber(guard / peer, 2));
    return [FIGURES[key], ...[guard, ...peers].map((value) => formatNumber(value, 1)), ...ratios];
  });
  const names = [...figures.keys()].map(({ name }) => name);
  return {
    title: `The guard and controller-runtime, ${formatNumber(nodes)} nodes`,
    columns: ['what', ...names, ...names.slice(1).map((name) => `guard × ${name}`)],
    rows,
    notes: [
      `- Dry runs: ${denials} denials, ${allows} allowed, ${parallels} × ${PARALLEL} allowed in parallel.`,
      `- ${starts} starts. The burst: ${burst} parallel DELETEs.`,
      '- controller-runtime 0.21 in Go, without its limit of 20 requests a second. It denies from its cache of ' +
        'metadata and allows after a list of nodes and pools. Indexed: the cache has an index of configs.',
      '- The guard also gets the node of a denial again, lists builds, lists pools twice, and logs.',
      '- Late: more than 5 s (API server) or 4 s (guard). Memory: VmRSS and VmHWM, MB are 10⁶ bytes.',
      `- ${NODE_SIZE} Two of three nodes name a config in use.`,
    ],
  };
}

await runCommand('bench', main);
