import type { KubeClient, KubeResponse } from '../../e2e/control-plane/kube-client.ts';
import { until } from '../../e2e/control-plane/until.ts';
import { decisionsAbout } from '../../e2e/support/guard-process.ts';
import { GuardedCluster } from '../../e2e/support/guarded-cluster.ts';
import { machineConfig, pool, renderedName } from '../../e2e/support/objects.ts';
import { PATHS } from '../../e2e/support/paths.ts';
import type { Bench, BenchContext, Table } from '../bench.ts';
import { isAnswered, labelsOf, narrowGuard, register } from '../contestants.ts';
import { applyFloor, awaitFloor } from '../floor.ts';
import { type Goal, goalTable } from '../goals.ts';
import { interleave } from '../interleave.ts';
import { createFleet, nodeName, nodeSizes, type NodeConfigs } from '../nodes.ts';
import { goPeer, NO_GO } from '../peers/go-peer.ts';
import { controllerRuntime, getAndDeny, peerIdentity, PeerProcess } from '../peers/peer-process.ts';
import { summary, summaryColumns, type Summary } from '../percentiles.ts';
import { startPlainWebhook } from '../plain-webhooks.ts';

const WEBHOOKS = {
  none: 'no webhook',
  noOp: 'no-op, node:https',
  noOpGo: 'no-op, Go',
  getAndDeny: 'one GET and deny, node:https',
  floor: 'policy floor',
  guard: 'guard',
  go: 'controller-runtime',
  goIndex: 'controller-runtime, indexed',
} as const;
type Webhook = keyof typeof WEBHOOKS;

/** One who decides about one config. */
interface Contestant {
  readonly webhook: Webhook;
  /** Does a node name the config? */
  readonly inUse: boolean;
  readonly answer: 200 | 403;
  /** How the decision comes about, where that is not said by the name. */
  readonly how?: string;
}

const CONTESTANTS: readonly Contestant[] = [
  { webhook: 'none', inUse: false, answer: 200 },
  { webhook: 'noOp', inUse: false, answer: 200 },
  { webhook: 'noOpGo', inUse: false, answer: 200 },
  { webhook: 'getAndDeny', inUse: false, answer: 403 },
  { webhook: 'guard', inUse: true, answer: 403, how: 'index and one GET' },
  { webhook: 'goIndex', inUse: true, answer: 403, how: 'cache' },
  { webhook: 'go', inUse: true, answer: 403, how: 'cache' },
  { webhook: 'floor', inUse: true, answer: 403 },
  { webhook: 'guard', inUse: false, answer: 200, how: 'live read' },
  { webhook: 'go', inUse: false, answer: 200, how: 'live read' },
];

/** What a rendered config of a small pool has, and a large one: etcd takes 1.5 MB. */
const BYTES = { '8 kB': 8_000, '1.2 MB': 1_200_000 } as const;
type Size = keyof typeof BYTES;

interface Case {
  readonly nodes: number;
  readonly dryRun: boolean;
  readonly size: Size;
  /** So many ask at the same time. */
  readonly clients: number;
  readonly rounds: number;
  /** How often the policies are asked, which take a quarter of a millisecond a node. */
  readonly floorRounds?: number;
}

const DRY_RUN = { dryRun: true, size: '8 kB', clients: 1 } as const;
const FULL: readonly Case[] = [
  { ...DRY_RUN, nodes: 5, rounds: 200, floorRounds: 200 },
  { ...DRY_RUN, nodes: 500, rounds: 100, floorRounds: 20 },
  { ...DRY_RUN, nodes: 2_000, rounds: 50, floorRounds: 10 },
  { ...DRY_RUN, nodes: 2_000, rounds: 15, clients: 8 },
  { ...DRY_RUN, nodes: 2_000, rounds: 30, size: '1.2 MB' },
  { ...DRY_RUN, nodes: 2_000, rounds: 8, size: '1.2 MB', clients: 8 },
  { ...DRY_RUN, nodes: 2_000, rounds: 40, dryRun: false },
  { ...DRY_RUN, nodes: 2_000, rounds: 20, dryRun: false, size: '1.2 MB' },
  { ...DRY_RUN, nodes: 5_000, rounds: 20 },
];
const QUICK: readonly Case[] = [
  { ...DRY_RUN, nodes: 5, rounds: 10, floorRounds: 5 },
  { ...DRY_RUN, nodes: 50, rounds: 5, floorRounds: 5 },
  { ...DRY_RUN, nodes: 50, rounds: 2, size: '1.2 MB', clients: 8 },
  { ...DRY_RUN, nodes: 50, rounds: 5, dryRun: false, size: '1.2 MB' },
];
const EFFECTIVE_TIMEOUT_MS = 30_000;
/** Of a denial, against one node:https webhook that reads one object and denies. */
const DENIAL_GOAL = 1.25;

const bench: Bench = {
  question:
    'What does the deletion of a rendered config cost, against the least that a webhook can do, and against one in Go?',
  run,
};
export default bench;

async function run({ quick, binaries, log }: BenchContext): Promise<readonly Table[]> {
  const go = await goPeer(log);
  const guarded = await GuardedCluster.start(binaries, { direct: true });
  try {
    const contestants = CONTESTANTS.filter(({ webhook }) => go !== undefined || !isGo(webhook));
    const admin = guarded.controlPlane.apiServer.admin;
    const configs = await createConfigs(admin, contestants);
    for (const name of ['master', 'worker', 'infra']) {
      await admin.create(PATHS.pools, pool({ name, spec: renderedName(name) }));
    }
    const used = configs.filter(({ inUse }) => inUse).map(({ name }) => name);
    await createFleet(admin, { to: 1, configsOf: (index) => configsOf(index, used) });
    await startAll(guarded, go);

    const rows: Table['rows'][number][] = [];
    const goals: Goal[] = [];
    let made = 1;
    for (const one of quick ? QUICK : FULL) {
      if (one.nodes > made) {
        log(`${one.nodes} nodes are made …`);
        await createFleet(admin, { from: made, to: one.nodes, configsOf: (index) => configsOf(index, used) });
        made = one.nodes;
        // Where the policies are not measured, nobody waits for them either: they take seconds.
        const asked = configs.filter(({ webhook }) => webhook !== 'floor' || one.floorRounds !== undefined);
        await awaitKnown(admin, asked);
      }
      log(`${caption(one)}: ${one.rounds} rounds …`);
      const measured = await measure(admin, one, configs, guarded.guard.log);
      rows.push(...rowsOf(one, measured));
      goals.push(goalOf(one, measured));
    }
    return [
      table(rows, await nodeSizes(admin), go !== undefined),
      goalTable('A denial by the guard × one GET and deny, node:https (p50)', goals),
    ];
  } finally {
    await guarded.stop();
  }
}

function isGo(webhook: Webhook): boolean {
  return webhook === 'go' || webhook === 'goIndex' || webhook === 'noOpGo';
}

/** One config about which one contestant is asked. */
interface Config extends Contestant {
  readonly size: Size;
  readonly name: string;
}

async function createConfigs(admin: KubeClient, contestants: readonly Contestant[]): Promise<readonly Config[]> {
  const configs: Config[] = [];
  for (const size of Object.keys(BYTES) as Size[]) {
    for (const contestant of contestants)
      configs.push({ ...contestant, size, name: await create(admin, contestant, size) });
  }
  return configs;
}

async function create(admin: KubeClient, { webhook }: Contestant, size: Size): Promise<string> {
  const name = renderedName();
  await admin.create(PATHS.configs, machineConfig({ name, labels: labelsOf(WEBHOOKS[webhook]), bytes: BYTES[size] }));
  return name;
}

/** Two a node, each of them with its turn. */
function configsOf(index: number, used: readonly string[]): NodeConfigs {
  const at = (place: number): string => used[place % used.length] ?? '';
  return { currentConfig: at(2 * index), desiredConfig: at(2 * index + 1) };
}

async function startAll({ controlPlane }: GuardedCluster, go: string | undefined): Promise<void> {
  const { admin } = controlPlane.apiServer;
  await narrowGuard(admin, labelsOf(WEBHOOKS.guard));
  await register(admin, WEBHOOKS.noOp, await startPlainWebhook(controlPlane, 'parse'));
  const programs = [
    ['getAndDeny', getAndDeny(nodeName(0))],
    ...(go === undefined
      ? []
      : ([
          ['noOpGo', controllerRuntime(go, 'no-op')],
          ['go', controllerRuntime(go, 'scan')],
          ['goIndex', controllerRuntime(go, 'index')],
        ] as const)),
  ] as const;
  for (const [webhook, program] of programs) {
    const identity = await peerIdentity(controlPlane, webhook.toLowerCase());
    await register(admin, WEBHOOKS[webhook], await PeerProcess.start(controlPlane, program, identity));
  }
  await applyFloor(controlPlane, labelsOf(WEBHOOKS.floor));
  await awaitFloor(admin, labelsOf(WEBHOOKS.floor));
}

function ask(admin: KubeClient, config: string, dryRun: boolean): Promise<KubeResponse> {
  return admin.delete(`${PATHS.configs}/${config}`, dryRun ? { dryRun: 'All' } : {});
}

/** Until everybody knows of the nodes that have just been made, and is asked about its own configs alone. */
async function awaitKnown(admin: KubeClient, configs: readonly Config[]): Promise<void> {
  for (const { webhook, name, answer } of configs) {
    const isRight = async () => (await ask(admin, name, true)).status === answer;
    await until(`the right answer of ${WEBHOOKS[webhook]}`, isRight, { timeoutMs: EFFECTIVE_TIMEOUT_MS });
  }
}

type Measured = ReadonlyMap<Contestant, Summary & { readonly late: number }>;

async function measure(
  admin: KubeClient,
  { size, dryRun, clients, rounds, floorRounds }: Case,
  configs: readonly Config[],
  guardLog: string,
): Promise<Measured> {
  const late = new Map<string, number>();
  const turnOf = (config: Config) => async () => {
    // What is really deleted has to be made first, and takes no part in the time.
    const fresh = dryRun || config.answer === 403 ? config.name : await create(admin, config, size);
    const responses = await Promise.all(Array.from({ length: clients }, () => ask(admin, fresh, dryRun)));
    const unanswered = responses.filter((response) => !isAnswered(response, config.answer, WEBHOOKS[config.webhook]));
    late.set(config.name, (late.get(config.name) ?? 0) + unanswered.length);
    return responses.map(({ ms }) => ms);
  };
  const here = configs.filter((config) => config.size === size);
  const turns = here.map((config) => ({ name: config.name, once: turnOf(config) }));
  const isFloor = ({ name }: { readonly name: string }) =>
    here.some((config) => config.name === name && config.webhook === 'floor');
  const measured = new Map([
    ...(await interleave(
      turns.filter((turn) => !isFloor(turn)),
      { rounds, warmUp: Math.ceil(rounds / 10) },
    )),
    ...(floorRounds === undefined ? [] : await interleave(turns.filter(isFloor), { rounds: floorRounds, warmUp: 1 })),
  ]);
  await checkPaths(here, guardLog, dryRun);
  return new Map(
    here
      .filter(({ name }) => measured.has(name))
      .map((config) => [config, { ...summary(measured.get(config.name) ?? []), late: late.get(config.name) ?? 0 }]),
  );
}

/** Was it really the index, and really a live read, that was timed? */
async function checkPaths(configs: readonly Config[], guardLog: string, dryRun: boolean): Promise<void> {
  for (const { webhook, inUse, name } of configs) {
    // A config that was really deleted had another name.
    if (webhook !== 'guard' || (!inUse && !dryRun)) continue;
    const path = (await decisionsAbout(guardLog, name)).at(-1)?.path;
    if (path !== (inUse ? 'index' : 'live')) throw new Error(`The guard decided about ${name} by ${path}.`);
  }
}

function p50Of(measured: Measured, wanted: Pick<Contestant, 'webhook' | 'inUse'>): number {
  const found = [...measured].find(([one]) => one.webhook === wanted.webhook && one.inUse === wanted.inUse);
  return found?.[1].p50 ?? Number.NaN;
}

function rowsOf({ nodes, dryRun, size, clients }: Case, measured: Measured): Table['rows'] {
  const noOp = p50Of(measured, { webhook: 'noOp', inUse: false });
  const getAndDeny = p50Of(measured, { webhook: 'getAndDeny', inUse: false });
  return [...measured].map(([{ webhook, answer, how }, figures]) => ({
    nodes,
    what: dryRun ? 'dry-run' : 'DELETE',
    size,
    clients,
    who: `${WEBHOOKS[webhook]}${how === undefined ? '' : ` (${how})`}`,
    answer,
    ...figures,
    timesNoOp: figures.p50 / noOp,
    timesDenier: answer === 403 ? figures.p50 / getAndDeny : null,
  }));
}

function goalOf(one: Case, measured: Measured): Goal {
  const guard = p50Of(measured, { webhook: 'guard', inUse: true });
  const getAndDeny = p50Of(measured, { webhook: 'getAndDeny', inUse: false });
  return { what: caption(one), found: guard / getAndDeny, atMost: DENIAL_GOAL };
}

function caption({ nodes, dryRun, size, clients }: Case): string {
  const who = clients === 1 ? '1 client' : `${clients} clients`;
  return `${nodes.toLocaleString('en-US')} nodes, ${dryRun ? 'dry-run' : 'DELETE'}, ${size}, ${who}`;
}

function table(
  rows: Table['rows'],
  sizes: { readonly full: number; readonly metadata: number },
  withGo: boolean,
): Table {
  return {
    title: 'Deletion of one rendered config through a real API server, milliseconds',
    columns: [
      { key: 'nodes', heading: 'nodes' },
      { key: 'what', heading: 'request' },
      { key: 'size', heading: 'config' },
      { key: 'clients', heading: 'clients' },
      { key: 'who', heading: 'who decides' },
      { key: 'answer', heading: 'answer' },
      ...summaryColumns(1),
      { key: 'late', heading: 'not in time' },
      { key: 'timesNoOp', heading: 'p50 × no-op, node:https', digits: 2 },
      { key: 'timesDenier', heading: 'p50 × one GET and deny', digits: 2 },
    ],
    rows,
    notes: [
      'Every webhook is a process of its own on the machine of the API server, registered in the same way; all of a group are measured in turn, each on its own config.',
      '8 clients: so many ask at the same moment about the same config, and all have their answer before the next has its turn.',
      'Measured are 8 kB, one client and a dry run with every number of nodes, and the other combinations at 2,000 nodes; what is really deleted is made anew each time, by one client; the policies, which take most time, are asked a few times, and up to 2,000 nodes.',
      'A config in use is named by every fourth node. "One GET and deny" reads the same node each time and knows nothing else.',
      'controller-runtime denies by its cache alone, of which it copies every object (indexed: one that names the config); the guard reads one node again before it denies.',
      'Not in time: refused because the webhook did not answer within 5 seconds; a wrong answer would end the bench.',
      `A node has ${(sizes.full / 1_000).toFixed(1)} kB of JSON, ${(sizes.metadata / 1_000).toFixed(1)} kB of it metadata; 3 pools.`,
      ...(withGo ? [] : [NO_GO]),
    ],
  };
}
