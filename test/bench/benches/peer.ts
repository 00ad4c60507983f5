import { setTimeout as pause } from 'node:timers/promises';

import type { KubeClient, KubeResponse } from '../../e2e/control-plane/kube-client.ts';
import { until } from '../../e2e/control-plane/until.ts';
import { decisionsAbout } from '../../e2e/support/guard-process.ts';
import { GUARD_USER, GuardedCluster } from '../../e2e/support/guarded-cluster.ts';
import { machineConfig, pool, renderedName } from '../../e2e/support/objects.ts';
import { PATHS } from '../../e2e/support/paths.ts';
import type { Bench, BenchContext, Table } from '../bench.ts';
import { isAnswered, labelsOf, narrowGuard, register } from '../contestants.ts';
import { type DirectAnswer, reviewAbout } from '../direct-reviews.ts';
import { firstAnswer } from '../first-answer.ts';
import { interleave } from '../interleave.ts';
import { nodeListsBy } from '../live-reads.ts';
import { forgetPeak, memoryOf } from '../memory.ts';
import { createFleet, type NodeConfigs, nodeSizes } from '../nodes.ts';
import { goPeer, NO_GO } from '../peers/go-peer.ts';
import {
  controllerRuntime,
  guardProgram,
  peerIdentity,
  PeerProcess,
  prepare,
  type WebhookIdentity,
  type WebhookProgram,
} from '../peers/peer-process.ts';
import { summary } from '../percentiles.ts';

const FULL = { nodes: 2_000, starts: 5, denials: 200, allows: 60, parallels: 12, burst: 300, restMs: 15_000 } as const;
const QUICK = { nodes: 50, starts: 1, denials: 10, allows: 10, parallels: 2, burst: 30, restMs: 1_000 } as const;

/** So many ask at the same moment. */
const PARALLEL = 8;
/** What a rendered config of a small pool has. */
const CONFIG_BYTES = 8_000;
const EFFECTIVE_TIMEOUT_MS = 30_000;

const bench: Bench = {
  question: 'How does the guard compare with the same rule as a webhook in Go on controller-runtime?',
  run,
};
export default bench;

const NAMES = { guard: 'guard', scan: 'controller-runtime', index: 'controller-runtime, indexed' } as const;
type Name = keyof typeof NAMES;

interface Rival {
  readonly name: Name;
  readonly program: WebhookProgram;
  readonly identity: WebhookIdentity;
  /** A config that nodes have, and one that nothing has. */
  readonly used: string;
  readonly free: string;
}

/** Of one rival, what is measured of it, by the key of {@link MEASURES}. */
type Figures = Partial<Record<Measure, number>>;
type Measure = (typeof MEASURES)[number]['key'];

/** `goal`: what the guard's figure, or its ratio to that of the other, may be at most. */
const MEASURES = [
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
  { key: 'burstLists', what: 'the parallel DELETEs, lists of all nodes', goal: 3, absolute: true },
  { key: 'burstPeak', what: 'the parallel DELETEs, resident memory at most, MB' },
] as const satisfies readonly { key: string; what: string; goal?: number; absolute?: boolean }[];

type Sizes = typeof FULL | typeof QUICK;

async function run({ quick, binaries, log }: BenchContext): Promise<readonly Table[]> {
  const sizes = quick ? QUICK : FULL;
  const go = await goPeer(log);
  const guarded = await GuardedCluster.start(binaries, { direct: true });
  try {
    const { controlPlane } = guarded;
    const { admin } = controlPlane.apiServer;
    // The guard that came with the cluster has seen it grow: all rivals start afresh.
    await narrowGuard(admin, labelsOf('nobody'));
    await guarded.guard.stop();
    const rivals = await createRivals(guarded, go);
    log(`${sizes.nodes} nodes are made …`);
    await createFleet(admin, { to: sizes.nodes, configsOf: (index) => configsOf(index, rivals) });
    for (const name of ['master', 'worker', 'infra']) {
      await admin.create(PATHS.pools, pool({ name, spec: renderedName(name) }));
    }
    const figures = new Map<Name, Figures>(rivals.map(({ name }) => [name, {}]));
    const add = (name: Name, more: Figures) => figures.set(name, { ...figures.get(name), ...more });

    log(`${sizes.starts} starts of each …`);
    for (const [name, start] of await measureStarts(guarded, rivals, sizes)) add(name, { start });
    const started = await startAll(guarded, rivals);
    await pause(sizes.restMs);
    for (const [name, { pid }] of started) {
      add(name, { rest: (await memoryOf(pid)).now });
      await forgetPeak(pid);
    }
    for (const [name, more] of await measureDeletes(admin, rivals, sizes, log)) add(name, more);
    for (const [name, { pid }] of started) add(name, { peak: (await memoryOf(pid)).peak });
    await checkPaths(rivals, started);
    for (const rival of rivals) {
      log(`${NAMES[rival.name]}: ${sizes.burst} parallel DELETEs …`);
      const process = started.get(rival.name);
      if (process === undefined) continue;
      await forgetPeak(process.pid);
      const burst = await measureBurst(guarded, rival, sizes.burst);
      add(rival.name, { ...burst, burstPeak: (await memoryOf(process.pid)).peak });
    }
    return [table(figures, sizes, await nodeSizes(admin))];
  } finally {
    await guarded.stop();
  }
}

async function createRivals({ controlPlane, kubeconfig }: GuardedCluster, go: string | undefined) {
  const { admin } = controlPlane.apiServer;
  const programs: (readonly [Name, WebhookProgram, WebhookIdentity])[] = [
    ['guard', guardProgram, { user: GUARD_USER, kubeconfig }],
  ];
  for (const mode of go === undefined ? [] : (['scan', 'index'] as const)) {
    programs.push([mode, controllerRuntime(go ?? '', mode), await peerIdentity(controlPlane, mode)]);
  }
  const rivals: Rival[] = [];
  for (const [name, program, identity] of programs) {
    const [used, free] = [await createConfig(admin, name), await createConfig(admin, name)];
    rivals.push({ name, program, identity, used, free });
  }
  return rivals;
}

async function createConfig(admin: KubeClient, rival: Name): Promise<string> {
  const name = renderedName();
  const labels = labelsOf(NAMES[rival]);
  await admin.create(PATHS.configs, machineConfig({ name, labels, bytes: CONFIG_BYTES }));
  return name;
}

/** Two a node, each rival's with its turn. */
function configsOf(index: number, rivals: readonly Rival[]): NodeConfigs {
  const at = (place: number): string => rivals[place % rivals.length]?.used ?? '';
  return { currentConfig: at(2 * index), desiredConfig: at(2 * index + 1) };
}

async function measureStarts({ controlPlane }: GuardedCluster, rivals: readonly Rival[], { starts }: Sizes) {
  const turns = rivals.map(({ name, program, identity, used }) => ({
    name,
    once: async () => {
      const prepared = await prepare(controlPlane, program, identity);
      return await firstAnswer(prepared, reviewAbout(used), isRefused, () => PeerProcess.spawn(prepared));
    },
  }));
  const measured = await interleave(turns, { rounds: starts, warmUp: 1 });
  return rivals.map(({ name }) => [name, summary(measured.get(name) ?? []).p50] as const);
}

/** Before its cache is filled, a webhook may refuse because it cannot tell; it may not allow. */
function isRefused({ allowed, status }: DirectAnswer): boolean {
  if (allowed) throw new Error('The deletion of a config in use was allowed.');
  return status?.message?.includes('is in use by') === true;
}

async function startAll({ controlPlane }: GuardedCluster, rivals: readonly Rival[]) {
  const { admin } = controlPlane.apiServer;
  const started = new Map<Name, PeerProcess>();
  for (const { name, program, identity, used, free } of rivals) {
    const process = await PeerProcess.start(controlPlane, program, identity);
    started.set(name, process);
    await register(admin, NAMES[name], process);
    for (const [config, answer] of [
      [used, 403],
      [free, 200],
    ] as const) {
      const isRight = async () => (await dryRun(admin, config)).status === answer;
      await until(`the right answer of ${NAMES[name]}`, isRight, { timeoutMs: EFFECTIVE_TIMEOUT_MS });
    }
  }
  return started;
}

async function measureDeletes(
  admin: KubeClient,
  rivals: readonly Rival[],
  { denials, allows, parallels }: Sizes,
  log: (line: string) => void,
) {
  const late = new Map<Name, number>(rivals.map(({ name }) => [name, 0]));
  const measure = async (what: string, rounds: number, parallel: number, of: 'used' | 'free') => {
    log(`${what}: ${rounds} rounds …`);
    const turns = rivals.map((rival) => ({
      name: rival.name,
      once: async () => {
        const answers = await Promise.all(Array.from({ length: parallel }, () => dryRun(admin, rival[of])));
        const unanswered = answers.filter(
          (answer) => !isAnswered(answer, of === 'used' ? 403 : 200, NAMES[rival.name]),
        );
        late.set(rival.name, (late.get(rival.name) ?? 0) + unanswered.length);
        return answers.map(({ ms }) => ms);
      },
    }));
    return await interleave(turns, { rounds, warmUp: Math.ceil(rounds / 10) });
  };
  const denied = await measure('denials', denials, 1, 'used');
  const allowed = await measure('allowed', allows, 1, 'free');
  const parallel = await measure(`${PARALLEL} allowed at the same time`, parallels, PARALLEL, 'free');
  return rivals.map(({ name }) => {
    const [d, a, p] = [denied, allowed, parallel].map((measured) => summary(measured.get(name) ?? []));
    const figures = {
      denial: d?.p50 ?? Number.NaN,
      denial99: d?.p99 ?? Number.NaN,
      allow: a?.p50 ?? Number.NaN,
      allow99: a?.p99 ?? Number.NaN,
      parallel: p?.p50 ?? Number.NaN,
      parallel99: p?.p99 ?? Number.NaN,
      late: late.get(name) ?? 0,
    };
    return [name, figures] as const;
  });
}

function dryRun(admin: KubeClient, config: string): Promise<KubeResponse> {
  return admin.delete(`${PATHS.configs}/${config}`, { dryRun: 'All' });
}

/** Was it really the index, and really a live read, that was timed? */
async function checkPaths(rivals: readonly Rival[], started: ReadonlyMap<Name, PeerProcess>): Promise<void> {
  for (const { name, used, free } of rivals) {
    const log = started.get(name)?.log;
    if (name !== 'guard' || log === undefined) continue;
    for (const [config, path] of [
      [used, 'index'],
      [free, 'live'],
    ] as const) {
      const found = (await decisionsAbout(log, config)).at(-1)?.path;
      if (found !== path) throw new Error(`The guard decided by ${found}, not ${path}.`);
    }
  }
}

/** Each of another config that nothing has, for real. */
async function measureBurst({ controlPlane }: GuardedCluster, { name, identity }: Rival, count: number) {
  const { admin, auditLog } = controlPlane.apiServer;
  const configs: string[] = [];
  for (let index = 0; index < count; index += 1) configs.push(await createConfig(admin, name));
  const before = await nodeListsBy(identity.user, auditLog);
  const begun = performance.now();
  const answers = await Promise.all(configs.map((config) => admin.delete(`${PATHS.configs}/${config}`)));
  const burst = (performance.now() - begun) / 1_000;
  const late = answers.filter((answer) => !isAnswered(answer, 200, NAMES[name]));
  return { burst, burstLate: late.length, burstLists: (await nodeListsBy(identity.user, auditLog)) - before };
}

function table(
  figures: ReadonlyMap<Name, Figures>,
  { nodes, burst, denials, allows, parallels, starts }: Sizes,
  sizes: { readonly full: number; readonly metadata: number },
): Table {
  const of = (name: Name, key: Measure): number | null => figures.get(name)?.[key] ?? null;
  const rows = MEASURES.map((measure) => {
    const [guard, scan, index] = [of('guard', measure.key), of('scan', measure.key), of('index', measure.key)];
    const timesScan = ratio(guard, scan);
    const judged = 'absolute' in measure ? guard : timesScan;
    const goal = 'goal' in measure ? measure.goal : null;
    return {
      what: measure.what,
      guard,
      scan,
      index,
      timesScan,
      timesIndex: ratio(guard, index),
      goal: goal === null ? '' : `${'absolute' in measure ? '' : '× '}${goal}`,
      reached: goal === null || judged === null ? '' : judged <= goal ? 'yes' : 'no',
    };
  });
  return {
    title: `The guard and controller-runtime, ${nodes.toLocaleString('en-US')} nodes`,
    columns: [
      { key: 'what', heading: 'what' },
      { key: 'guard', heading: 'guard', digits: 1 },
      { key: 'scan', heading: NAMES.scan, digits: 1 },
      { key: 'index', heading: NAMES.index, digits: 1 },
      { key: 'timesScan', heading: `guard × ${NAMES.scan}`, digits: 2 },
      { key: 'timesIndex', heading: 'guard × indexed', digits: 2 },
      { key: 'goal', heading: 'at most' },
      { key: 'reached', heading: 'reached' },
    ],
    rows,
    notes: [
      `Dry-run DELETE of an 8 kB config through the same API server, in turn: ${denials} denials, ${allows} allowed, ${parallels} × ${PARALLEL} allowed at the same time; ${starts} starts; ${burst} parallel DELETEs of as many configs, for real.`,
      'All are processes of their own with the same rights. Those in Go: test/bench/peers/controller-runtime, controller-runtime 0.21, nodes and pools; they deny by their cache of metadata and allow after a list of their own, without its limit of 20 requests a second. Indexed: the cache is asked for one object that names the config, instead of for everything.',
      'The guard does more for its answer: it reads the node that its denial names once more, reads builds too, and pools twice, and writes a log line for each.',
      'Start: asked directly over TLS from the start of the process on, until it refuses because of a node. Lists of nodes: by the audit log of the API server.',
      'What is not answered within 5 seconds is refused: by the API server, or after 4 by the guard itself. Its time counts. Memory: VmRSS and VmHWM of /proc, MB are 10⁶ bytes.',
      `A node has ${(sizes.full / 1_000).toFixed(1)} kB of JSON, ${(sizes.metadata / 1_000).toFixed(1)} kB of it metadata; 3 pools; a config in use is named by two nodes of three.`,
      ...(figures.has('scan') ? [] : [NO_GO]),
    ],
  };
}

function ratio(guard: number | null, other: number | null): number | null {
  return guard === null || other === null || other === 0 ? null : guard / other;
}
