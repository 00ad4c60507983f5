import type { Cluster } from '../e2e/support/cluster.ts';
import { expectStatus } from '../e2e/control-plane/kube-client.ts';
import { type GuardedCluster, startGuardedCluster } from '../e2e/support/guarded-cluster.ts';
import { renderedName } from '../e2e/support/objects.ts';
import { PATHS } from '../e2e/support/paths.ts';
import { log, prepareRun, runCommand } from '../e2e/support/runner.ts';
import { type Candidate, goCommand, guardCommand, startCandidate } from './candidate.ts';
import { createFleet, NODE_SIZE } from './fleet.ts';
import { interleave } from './interleave.ts';
import { memoryOf } from './memory.ts';
import { describeEnvironment, formatNumber, formatTable } from './report.ts';

const NODES = 2_000;
/** The dry runs of each candidate. */
const MEASUREMENTS = [
  { what: 'denial', config: 'used', status: 403, clients: 1, rounds: 200 },
  { what: 'allowed', config: 'unused', status: 200, clients: 1, rounds: 60 },
  { what: '8 allowed in parallel', config: 'unused', status: 200, clients: 8, rounds: 12 },
] as const;
type Measurement = (typeof MEASUREMENTS)[number];

const NOTES = `
- Dry runs: ${MEASUREMENTS.map(({ what, rounds }) => `${rounds} × ${what}`).join(', ')}.
- controller-runtime 0.21 in Go, without its limit of 20 requests a second. It denies from its cache of
  metadata and allows after a list of nodes and pools. Indexed: the cache has an index of configs.
- The guard also gets the node of a denial again, lists builds, lists pools twice, and logs.
- The API server gives up after 5 s. Memory: VmHWM, MB are 10⁶ bytes.
- ${NODE_SIZE} Two of three nodes name a config in use.
`;

async function main(): Promise<number> {
  const { release } = await prepareRun();
  const environment = describeEnvironment(release);
  const guarded = await startGuardedCluster({ direct: true });
  try {
    const candidates = await startCandidates(guarded);
    const rows = await compare(guarded.cluster, candidates);
    const names = candidates.map(({ name }) => name);
    const columns = ['what', ...names, ...names.slice(1).map((name) => `guard × ${name}`)];
    process.stdout.write('# How does the guard compare with a webhook in Go on controller-runtime?\n\n');
    process.stdout.write(`\`npm run bench\`, ${environment}, ${formatNumber(NODES)} nodes.\n\n`);
    process.stdout.write(formatTable(columns, rows) + NOTES);
  } finally {
    await guarded.stop();
  }
  return 0;
}

async function startCandidates(guarded: GuardedCluster): Promise<readonly Candidate[]> {
  const { cluster, controlPlane } = guarded;
  // All candidates start with the same cluster.
  await cluster.admin.delete(PATHS.guardWebhook);
  await guarded.guard.stop();
  log('Building the webhook on controller-runtime …');
  const candidates = [
    await startCandidate(guarded, 'guard', guardCommand),
    await startCandidate(guarded, 'controller-runtime', await goCommand(controlPlane, 'scan')),
    await startCandidate(guarded, 'controller-runtime, indexed', await goCommand(controlPlane, 'index')),
  ];
  log(`Creating ${NODES} nodes …`);
  await createFleet(
    cluster.admin,
    NODES,
    candidates.map(({ used }) => used),
  );
  for (const name of ['master', 'worker', 'infra']) await cluster.pool({ name, spec: renderedName(name) });
  for (const candidate of candidates) await candidate.awaitReady();
  return candidates;
}

/** @throws Error if an answer is wrong. A late one counts with the seconds that it took. */
async function compare(cluster: Cluster, candidates: readonly Candidate[]): Promise<string[][]> {
  const rows: string[][] = [];
  for (const measurement of MEASUREMENTS) {
    log(`${measurement.what} …`);
    const measures = candidates.map((candidate) => async () => await measure(cluster, candidate, measurement));
    const summaries = await interleave(measures, measurement.rounds);
    for (const percentile of ['p50', 'p99'] as const) {
      const values = summaries.map(({ [percentile]: ms }) => ms);
      rows.push(createRow(`${measurement.what}, ms (${percentile})`, values));
    }
  }
  const peaks = await Promise.all(candidates.map(async ({ pid }) => (await memoryOf(pid)).peak));
  return [...rows, createRow('resident memory at most, MB', peaks)];
}

async function measure(cluster: Cluster, candidate: Candidate, { config, status, clients }: Measurement) {
  const dryRuns = Array.from({ length: clients }, async () => await cluster.dryRun(candidate[config]));
  const responses = await Promise.all(dryRuns);
  for (const response of responses) expectStatus(response, [status, 500, 503], `the dry run of ${candidate.name}`);
  return responses.map(({ ms }) => ms);
}

function createRow(what: string, values: readonly number[]): string[] {
  const [guard = Number.NaN, ...peers] = values;
  const ratios = peers.map((peer) => formatNumber(guard / peer, 2));
  return [what, ...values.map((value) => formatNumber(value, 1)), ...ratios];
}

await runCommand('bench', main);
