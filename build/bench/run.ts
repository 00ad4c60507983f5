import { parseArgs } from 'node:util';
import { expectStatus } from '../../test/e2e/control-plane/kube-client.ts';
import { type GuardedCluster, startGuardedCluster } from '../../test/e2e/support/guarded-cluster.ts';
import { PATHS, renderedName } from '../../test/e2e/support/objects.ts';
import { log, prepareRun, runCommand } from '../../test/e2e/support/runner.ts';
import {
  type Candidate,
  type Configs,
  createConfig,
  type CreateCommand,
  goCommand,
  guardCommand,
  registerCandidate,
} from './candidate.ts';
import { SLOW_MS } from './candidate.ts';
import { createNodes, NODE_SIZE } from './fleet.ts';
import { interleave } from './interleave.ts';
import { PlainList } from './plain-list.ts';
import { memoryOf, processorMsOf } from './process-figures.ts';
import { describeEnvironment, formatNumber, formatTable } from './report.ts';

const HELP = `Compares the guard with the same rule on controller-runtime, and with a plain list of all nodes.

Usage: npm run --silent bench > build/bench/results/peer.md

Options:
  --help         print this text
  --nodes LIST   measure only with these numbers of nodes, such as 500,2000
  --other FILE   measure another bundle of the guard beside this one
  --quick        run small cases whose figures mean nothing
`;

/** The number of nodes at which the bench also compares starts, bursts and a slow API server. */
const FULL = {
  nodes: [500, 2_000, 10_000],
  comparedNodes: 2_000,
  starts: 5,
  denials: 200,
  allows: 60,
  parallels: 12,
  burst: 300,
};
const QUICK: typeof FULL = {
  nodes: [20, 50],
  comparedNodes: 50,
  starts: 1,
  denials: 10,
  allows: 10,
  parallels: 2,
  burst: 30,
};

const GUARD = 'guard';

/** Of one round. */
const DRY_RUNS = [
  { what: 'denial', config: 'used', status: 403, clients: 1, rounds: 'denials' },
  { what: 'allowed', config: 'unused', status: 200, clients: 1, rounds: 'allows' },
  { what: '8 allowed in parallel', config: 'unused', status: 200, clients: 8, rounds: 'parallels' },
] as const;

interface Row {
  readonly what: string;
  /** Of each candidate, the guard first. */
  readonly values: readonly number[];
  /** Of the plain list. */
  readonly plainList?: number;
}

interface Bench {
  readonly guarded: GuardedCluster;
  readonly candidates: readonly Candidate[];
  readonly configs: Configs;
  readonly plainList: PlainList;
  readonly sizes: typeof FULL;
}

async function main(): Promise<number> {
  const { values: flags } = parseArgs({
    options: {
      help: { type: 'boolean', default: false },
      nodes: { type: 'string' },
      other: { type: 'string' },
      quick: { type: 'boolean', default: false },
    },
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
    const nodes = flags.nodes?.split(',').map(Number) ?? sizes.nodes;
    const bench = await createBench(guarded, { ...sizes, nodes }, flags.other);
    const rows = await measure(bench);
    const command = `npm run bench${flags.quick ? ' -- --quick' : ''}`;
    process.stdout.write(formatComparison(bench, rows, `\`${command}\`, ${environment}`));
  } finally {
    await guarded.stop();
  }
  return 0;
}

async function createBench(guarded: GuardedCluster, sizes: typeof FULL, other: string | undefined): Promise<Bench> {
  const { cluster, controlPlane } = guarded;
  // All candidates start with the same cluster.
  await cluster.admin.delete(PATHS.guardWebhook);
  await guarded.guard.stop();
  const configs = { used: await createConfig(cluster), unused: await createConfig(cluster) };
  for (const name of ['master', 'worker', 'infra']) await cluster.pool({ name, spec: renderedName(name) });
  log('Building the webhook on controller-runtime …');
  const commands: [string, CreateCommand][] = [
    [GUARD, guardCommand()],
    ...(other === undefined ? [] : [['other guard', guardCommand(other)] as [string, CreateCommand]]),
    ['controller-runtime', await goCommand(controlPlane, 'scan')],
    ['controller-runtime, indexed', await goCommand(controlPlane, 'index')],
  ];
  const candidates: Candidate[] = [];
  for (const [name, command] of commands) candidates.push(await registerCandidate(guarded, configs, name, command));
  return { guarded, candidates, configs, sizes, plainList: new PlainList(cluster.admin.connection) };
}

/** Measures at each size of the cluster. @throws Error if an answer is wrong, or one of the guard is late */
async function measure(bench: Bench): Promise<readonly Row[]> {
  const { guarded, configs, sizes } = bench;
  const rows: Row[] = [];
  let created = 0;
  for (const nodes of sizes.nodes) {
    log(`Creating ${nodes} nodes …`);
    await createNodes(guarded.cluster.admin, created, nodes, configs.used);
    created = nodes;
    rows.push(...(await measureSize(bench, nodes)));
    if (nodes === sizes.comparedNodes) rows.push(...(await compare(bench)));
  }
  return rows;
}

/** Denials, allowed deletions, and what they cost, in new processes. */
async function measureSize({ candidates, configs, plainList, sizes }: Bench, nodes: number): Promise<readonly Row[]> {
  const rows: Row[] = [];
  const suffix = `, ${formatNumber(nodes)} nodes`;
  for (const candidate of candidates) await candidate.start();
  for (const { what, config, status, clients, rounds } of DRY_RUNS) {
    log(`${what}${suffix} …`);
    const before = await Promise.all(candidates.map(({ getPid }) => processorMsOf(getPid())));
    const measurements = candidates.map(({ name, cluster }) => async () => {
      const dryRuns = Array.from({ length: clients }, () => cluster.dryRun(configs[config]));
      const responses = await Promise.all(dryRuns);
      // With thousands of nodes, the peers can be late, and the API server answers for them.
      const late = name === GUARD ? [] : [500, 504];
      return responses.map((response) => expectStatus(response, [status, ...late], `a dry run of ${name}`).ms);
    });
    const isAllowed = what === 'allowed';
    const measurePlainList = async () => [await plainList.measure()];
    const summaries = await interleave([...measurements, ...(isAllowed ? [measurePlainList] : [])], sizes[rounds]);
    const after = await Promise.all(candidates.map(({ getPid }) => processorMsOf(getPid())));
    const plain = isAllowed ? summaries.pop() : undefined;
    for (const percentile of ['p50', 'p99'] as const) {
      const values = summaries.map(({ [percentile]: ms }) => ms);
      const row = { what: `${what}${suffix}, ms (${percentile})`, values };
      rows.push(plain === undefined ? row : { ...row, plainList: plain[percentile] });
    }
    // interleave adds a tenth of the rounds.
    const count = clients * Math.ceil(1.1 * sizes[rounds]);
    const processorMs = after.map((ms, index) => (ms - (before[index] ?? 0)) / count);
    rows.push({ what: `${what}${suffix}, ms of a processor`, values: processorMs });
  }
  const peaks = await Promise.all(candidates.map(async ({ getPid }) => (await memoryOf(getPid())).peak));
  return [...rows, { what: `resident memory at most${suffix}, MB`, values: peaks }];
}

async function compare({ guarded, candidates, configs, sizes }: Bench): Promise<readonly Row[]> {
  log('starts …');
  const starts = await interleave(
    candidates.map(({ start }) => async () => [await start()]),
    sizes.starts,
  );
  const bursts: Burst[] = [];
  for (const candidate of candidates) bursts.push(await measureBurst(guarded, candidate, sizes.burst));
  const peaks = await Promise.all(candidates.map(async ({ getPid }) => (await memoryOf(getPid())).peak));
  const lists: number[] = [];
  for (const candidate of candidates) lists.push(await countListsWhileSlow(candidate, configs, sizes.parallels));
  return [
    { what: 'start to first right denial, ms (p50)', values: starts.map(({ p50 }) => p50) },
    { what: 'the burst, s until the last answer', values: bursts.map(({ seconds }) => seconds) },
    { what: 'the burst, not answered in time', values: bursts.map(({ lateCount }) => lateCount) },
    { what: 'resident memory at most in the burst, MB', values: peaks },
    { what: 'lists of nodes while the API server is slow', values: lists },
  ];
}

/** Returns how often the candidate lists all nodes for parallel dry runs. Some can be late. */
async function countListsWhileSlow({ name, cluster, ...candidate }: Candidate, { unused }: Configs, rounds: number) {
  log(`${name}: a slow API server …`);
  return await candidate.countListsWhileSlow(async () => {
    for (let round = 0; round < rounds; round += 1) {
      const responses = await Promise.all(Array.from({ length: 8 }, () => cluster.dryRun(unused)));
      for (const response of responses) expectStatus(response, [200, 500, 503, 504], `a slow dry run of ${name}`);
    }
  });
}

interface Burst {
  readonly seconds: number;
  /** How many deletions had no decision in time. */
  readonly lateCount: number;
}

async function measureBurst(guarded: GuardedCluster, { name, cluster }: Candidate, count: number): Promise<Burst> {
  log(`${name}: ${count} parallel DELETEs …`);
  const configs: string[] = [];
  while (configs.length < count) configs.push(await createConfig(guarded.cluster));
  const startedAt = performance.now();
  const responses = await Promise.all(configs.map((config) => cluster.delete(config)));
  const seconds = (performance.now() - startedAt) / 1_000;
  // After its timeout, the API server answers 500 or 504, and the guard 503.
  for (const response of responses) expectStatus(response, [200, 500, 503, 504], `a deletion of ${name}`);
  return { seconds, lateCount: responses.filter(({ status }) => status !== 200).length };
}

function formatRow({ what, values, plainList = Number.NaN }: Row): string[] {
  const [guard = Number.NaN, ...peers] = values;
  const ratios = [...peers, plainList].map((peer) => formatNumber(guard / peer, 2));
  return [what, ...[...values, plainList].map((value) => formatNumber(value, 1)), ...ratios];
}

function formatComparison({ candidates, sizes }: Bench, rows: readonly Row[], circumstances: string): string {
  const { comparedNodes, starts, denials, allows, parallels, burst } = sizes;
  const names = [...candidates.map(({ name }) => name), 'plain list'];
  const columns = ['what', ...names, ...names.slice(1).map((name) => `guard × ${name}`)];
  return `# How does the guard compare with a webhook in Go on controller-runtime?

${circumstances}.

${formatTable(columns, rows.map(formatRow))}
- All nodes are of one pool and name the config whose deletion is denied. ${NODE_SIZE}
- Dry runs: ${denials} denials, ${allows} allowed, ${parallels} × 8 allowed in parallel, in new processes for each
  number of nodes. Each starts when the machine is idle, or after 2 s. Then the memory: VmHWM, MB are 10⁶ bytes.
- An answer that is later than 5 s counts with its time.
- The plain list: one consistent list of the nodes' metadata in protobuf, by a client that only reads the bytes.
- controller-runtime 0.21 in Go, without its limit of 20 requests a second. It denies from its cache of metadata and
  allows after a list of nodes and pools. Indexed: the cache has an index of configs.
- The guard also gets the node of a denial again, lists builds, and logs.
- With ${formatNumber(comparedNodes)} nodes: ${starts} starts. The burst: ${burst} parallel DELETEs. In time: within 5 s
  (API server) and 4 s (guard). The slow API server: each answer arrives ${SLOW_MS} ms later, during ${parallels} × 8
  allowed in parallel.
`;
}

await runCommand('bench', main);
