import { parseArgs } from 'node:util';
import { expectStatus } from '../../test/e2e/control-plane/kube-client.ts';
import type { Cluster } from '../../test/e2e/support/cluster.ts';
import { type GuardedCluster, startGuardedCluster } from '../../test/e2e/support/guarded-cluster.ts';
import { PATHS, renderedName } from '../../test/e2e/support/objects.ts';
import { log, prepareRun, runCommand } from '../../test/e2e/support/runner.ts';
import { type Candidate, goCommand, guardCommand, registerCandidate, SLOW_MS } from './candidate.ts';
import { createFleet, NODE_SIZE } from './fleet.ts';
import { interleave } from './interleave.ts';
import { memoryOf } from './memory.ts';
import { describeEnvironment, formatNumber, formatTable } from './report.ts';

const HELP = `Compares the guard with the same rule on controller-runtime.

Usage: npm run --silent bench > build/bench/results/peer.md

Options:
  --help   print this text
  --quick  run small cases whose figures mean nothing
`;

const FULL = { nodes: 2_000, starts: 5, denials: 200, allows: 60, parallels: 12, burst: 300 };
const QUICK: typeof FULL = { nodes: 50, starts: 1, denials: 10, allows: 10, parallels: 2, burst: 30 };

/** Of one round. */
const DRY_RUNS = [
  { what: 'denial', config: 'used', status: 403, clients: 1, rounds: 'denials' },
  { what: 'allowed', config: 'unused', status: 200, clients: 1, rounds: 'allows' },
  { what: '8 allowed in parallel', config: 'unused', status: 200, clients: 8, rounds: 'parallels' },
] as const;

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
  const guarded = await startGuardedCluster({ direct: true });
  try {
    const sizes = flags.quick ? QUICK : FULL;
    const candidates = await registerCandidates(guarded, sizes.nodes);
    const rows = await compare(guarded.cluster, candidates, sizes);
    const command = `npm run bench${flags.quick ? ' -- --quick' : ''}`;
    process.stdout.write(formatComparison(candidates, rows, `\`${command}\`, ${environment}`, sizes));
  } finally {
    await guarded.stop();
  }
  return 0;
}

async function registerCandidates(guarded: GuardedCluster, nodes: number): Promise<readonly Candidate[]> {
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
  log(`Creating ${nodes} nodes …`);
  const usedConfigs = candidates.map(({ used }) => used);
  await createFleet(cluster.admin, nodes, usedConfigs);
  for (const name of ['master', 'worker', 'infra']) await cluster.pool({ name, spec: renderedName(name) });
  return candidates;
}

/** @throws Error if an answer is wrong, or an answer to a dry run is late */
async function compare(cluster: Cluster, candidates: readonly Candidate[], sizes: typeof FULL): Promise<string[][]> {
  log('starts …');
  const starts = await interleave(
    candidates.map(({ start }) => async () => [await start()]),
    sizes.starts,
  );
  const rows = [
    createRow(
      'start to first right denial, ms (p50)',
      starts.map(({ p50 }) => p50),
    ),
  ];
  for (const { what, config, status, clients, rounds } of DRY_RUNS) {
    log(`${what} …`);
    const measurements = candidates.map((candidate) => async () => {
      const dryRuns = Array.from({ length: clients }, () => cluster.dryRun(candidate[config]));
      const responses = await Promise.all(dryRuns);
      return responses.map((response) => expectStatus(response, [status], `a dry run of ${candidate.name}`).ms);
    });
    const summaries = await interleave(measurements, sizes[rounds]);
    for (const percentile of ['p50', 'p99'] as const) {
      const values = summaries.map(({ [percentile]: ms }) => ms);
      rows.push(createRow(`${what}, ms (${percentile})`, values));
    }
  }
  const bursts: Awaited<ReturnType<typeof measureBurst>>[] = [];
  for (const candidate of candidates) bursts.push(await measureBurst(cluster, candidate, sizes.burst));
  const [seconds, lateCounts] = [bursts.map((burst) => burst.seconds), bursts.map((burst) => burst.lateCount)];
  const peaks = await Promise.all(candidates.map(async ({ getPid }) => (await memoryOf(getPid())).peak));
  const lists: number[] = [];
  for (const candidate of candidates) lists.push(await countListsWhileSlow(cluster, candidate, sizes.parallels));
  return [
    ...rows,
    createRow('the burst, s until the last answer', seconds),
    createRow('the burst, not answered in time', lateCounts),
    createRow('resident memory at most, MB', peaks),
    createRow('lists of nodes while the API server is slow', lists),
  ];
}

/** Returns how often the candidate lists all nodes for parallel dry runs. Some can be late. */
async function countListsWhileSlow(cluster: Cluster, { name, unused, ...candidate }: Candidate, rounds: number) {
  log(`${name}: a slow API server …`);
  return await candidate.countListsWhileSlow(async () => {
    for (let round = 0; round < rounds; round += 1) {
      const responses = await Promise.all(Array.from({ length: 8 }, () => cluster.dryRun(unused)));
      for (const response of responses) expectStatus(response, [200, 500, 503, 504], `a slow dry run of ${name}`);
    }
  });
}

async function measureBurst(cluster: Cluster, { name, createConfig }: Candidate, count: number) {
  log(`${name}: ${count} parallel DELETEs …`);
  const configs: string[] = [];
  while (configs.length < count) configs.push(await createConfig());
  const startedAt = performance.now();
  const responses = await Promise.all(configs.map((config) => cluster.delete(config)));
  const seconds = (performance.now() - startedAt) / 1_000;
  // After its timeout, the API server answers 500 or 504, and the guard 503.
  for (const response of responses) expectStatus(response, [200, 500, 503, 504], `a deletion of ${name}`);
  return { seconds, lateCount: responses.filter(({ status }) => status !== 200).length };
}

function createRow(what: string, values: readonly number[]): string[] {
  const [guard = Number.NaN, ...peers] = values;
  const ratios = peers.map((peer) => formatNumber(guard / peer, 2));
  return [what, ...values.map((value) => formatNumber(value, 1)), ...ratios];
}

function formatComparison(
  candidates: readonly Candidate[],
  rows: readonly (readonly string[])[],
  circumstances: string,
  { nodes, starts, denials, allows, parallels, burst }: typeof FULL,
): string {
  const names = candidates.map(({ name }) => name);
  const columns = ['what', ...names, ...names.slice(1).map((name) => `guard × ${name}`)];
  return `# How does the guard compare with a webhook in Go on controller-runtime?

${circumstances}, ${formatNumber(nodes)} nodes.

${formatTable(columns, rows)}
- ${starts} starts. Dry runs: ${denials} denials, ${allows} allowed, ${parallels} × 8 allowed in parallel.
- The burst: ${burst} parallel DELETEs. In time: within 5 s (API server) and 4 s (guard).
- controller-runtime 0.21 in Go, without its limit of 20 requests a second. It denies from its cache of metadata and
  allows after a list of nodes and pools. Indexed: the cache has an index of configs.
- The guard also gets the node of a denial again, lists builds, lists pools twice, and logs.
- Memory: VmHWM, MB are 10⁶ bytes.
- The slow API server: each answer arrives ${SLOW_MS} ms later, during ${parallels} × 8 allowed in parallel.
- ${NODE_SIZE} Two of three nodes name a config in use.
`;
}

await runCommand('bench', main);
