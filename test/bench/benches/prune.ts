import type { KubeClient } from '../../e2e/control-plane/kube-client.ts';
import { GUARD_USER, GuardedCluster } from '../../e2e/support/guarded-cluster.ts';
import { machineConfig, pool, renderedName } from '../../e2e/support/objects.ts';
import { PATHS } from '../../e2e/support/paths.ts';
import type { Bench, BenchContext, Table } from '../bench.ts';
import { labelsOf, narrowGuard, register } from '../contestants.ts';
import { nodeListsBy } from '../live-reads.ts';
import { forgetPeak, memoryOf } from '../memory.ts';
import { createFleet, type NodeConfigs, nodeSizes } from '../nodes.ts';
import { guardProgram, PeerProcess } from '../peers/peer-process.ts';
import { summary } from '../percentiles.ts';

/** Labels of the configs by who is asked about them: one guard about all, or two about every other one each. */
const NOBODY = ['nobody'] as const;
const ONE = ['guard'] as const;
const TWO = ['replica 1', 'replica 2'] as const;

type Asked = typeof NOBODY | typeof ONE | typeof TWO;

const CONFIG_BYTES = 8_000;

const FULL = { fleets: [100, 500, 2_000], configs: [75, 300] } as const;
const QUICK = { fleets: [20, 50], configs: [10, 40] } as const;

const bench: Bench = {
  question: 'How does the cost of a prune grow with the nodes, the configs and the replicas?',
  run,
};
export default bench;

/** One prune: half of its configs are in use, and stay. */
interface Prune {
  readonly nodes: number;
  readonly asked: Asked;
  readonly inUse: readonly string[];
  readonly count: number;
  /** So many deletions are under way at any moment. */
  readonly parallel: number;
}

async function run({ quick, binaries, log }: BenchContext): Promise<readonly Table[]> {
  const { fleets, configs: counts } = quick ? QUICK : FULL;
  const guarded = await GuardedCluster.start(binaries, { direct: true });
  try {
    const { controlPlane, kubeconfig } = guarded;
    const { admin } = controlPlane.apiServer;
    // Its place is taken by guards that are registered for some of the configs each.
    await narrowGuard(admin, labelsOf('the one that came with the cluster'));
    await guarded.guard.stop();
    const start = () => PeerProcess.start(controlPlane, guardProgram, { user: GUARD_USER, kubeconfig });
    const guards = [await start()];
    for (const label of [...ONE, TWO[0]]) await register(admin, label, guards[0] as PeerProcess);
    for (const name of ['master', 'worker', 'infra']) {
      await admin.create(PATHS.pools, pool({ name, spec: renderedName(name) }));
    }
    const most = Math.max(...counts) / 2;
    const [byOne, byTwo] = [await createConfigs(admin, most, ONE), await createConfigs(admin, most, TWO)];

    const rows: Table['rows'][number][] = [];
    const pruneAll = async (nodes: number, asked: Asked, inUse: readonly string[]) => {
      for (const count of counts) {
        for (const parallel of [1, 8, count]) {
          const prune = { nodes, asked, inUse: inUse.slice(0, count / 2), count, parallel };
          log(`${nodes} nodes, ${count} configs, ${who(asked)}, ${how(prune)} …`);
          rows.push(await measure(guarded, prune, guards));
        }
      }
    };
    let made = 0;
    for (const nodes of fleets) {
      log(`${nodes} nodes are made …`);
      await createFleet(admin, { from: made, to: nodes, configsOf: (index) => configsOf(index, [...byOne, ...byTwo]) });
      made = nodes;
      await pruneAll(nodes, NOBODY, []);
      await pruneAll(nodes, ONE, byOne);
    }
    const second = await start();
    guards.push(second);
    await register(admin, TWO[1], second);
    await pruneAll(made, TWO, byTwo);
    return [table(rows, await nodeSizes(admin))];
  } finally {
    await guarded.stop();
  }
}

/** Every other one for each of those who are asked. */
async function createConfigs(admin: KubeClient, count: number, asked: Asked): Promise<readonly string[]> {
  const names: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const name = renderedName();
    const labels = labelsOf(asked[index % asked.length] ?? asked[0]);
    await admin.create(PATHS.configs, machineConfig({ name, labels, bytes: CONFIG_BYTES }));
    names.push(name);
  }
  return names;
}

/** Two a node: those for one guard first, so that a small fleet has all of them. */
function configsOf(index: number, used: readonly string[]): NodeConfigs {
  const at = (place: number): string => used[place % used.length] ?? '';
  return { currentConfig: at(2 * index), desiredConfig: at(2 * index + 1) };
}

async function measure({ controlPlane }: GuardedCluster, prune: Prune, guards: readonly PeerProcess[]) {
  const { admin, auditLog } = controlPlane.apiServer;
  const { nodes, asked, inUse, count, parallel } = prune;
  const free = await createConfigs(admin, count - inUse.length, asked);
  const before = await nodeListsBy(GUARD_USER, auditLog);
  for (const { pid } of guards) await forgetPeak(pid);
  const begun = performance.now();
  const times = await deleteAll(admin, mixed(free, inUse), new Set(inUse), parallel);
  const seconds = (performance.now() - begun) / 1_000;
  const peaks = await Promise.all(guards.map(async ({ pid }) => (await memoryOf(pid)).peak));
  const { p50, p99 } = summary(times);
  return {
    nodes,
    configs: count,
    who: who(asked),
    how: how(prune),
    seconds,
    p50,
    p99,
    refused: inUse.length,
    lists: asked === NOBODY ? null : (await nodeListsBy(GUARD_USER, auditLog)) - before,
    peak: asked === NOBODY ? null : Math.max(...peaks),
  };
}

/** In turn, for as long as there are two kinds of them. */
function mixed(free: readonly string[], inUse: readonly string[]): readonly string[] {
  return free.flatMap((name, index) => [name, ...inUse.slice(index, index + 1)]);
}

/** Milliseconds of each. Throws where one in use is deleted, or a free one is not. */
async function deleteAll(
  admin: KubeClient,
  names: readonly string[],
  inUse: ReadonlySet<string>,
  parallel: number,
): Promise<readonly number[]> {
  const times: number[] = [];
  // Shared by all that delete: each takes the next one.
  const left = names.values();
  const deleter = async () => {
    for (const name of left) {
      const { status, body, ms } = await admin.delete(`${PATHS.configs}/${name}`);
      const wanted = inUse.has(name) ? 403 : 200;
      if (status !== wanted) throw new Error(`${status}, not ${wanted}: ${JSON.stringify(body).slice(0, 500)}`);
      times.push(ms);
    }
  };
  await Promise.all(Array.from({ length: parallel }, deleter));
  return times;
}

function who(asked: Asked): string {
  if (asked === NOBODY) return 'no webhook';
  return asked === ONE ? 'guard' : 'guard, 2 replicas';
}

function how({ parallel, count }: Prune): string {
  if (parallel === 1) return 'one after the other';
  return parallel === count ? 'all at once' : `${parallel} at a time`;
}

function table(rows: Table['rows'], sizes: { readonly full: number; readonly metadata: number }): Table {
  return {
    title: 'A prune of rendered configs, half of them in use',
    columns: [
      { key: 'nodes', heading: 'nodes' },
      { key: 'configs', heading: 'configs' },
      { key: 'who', heading: 'who decides' },
      { key: 'how', heading: 'how' },
      { key: 'seconds', heading: 's in all', digits: 1 },
      { key: 'p50', heading: 'ms each, p50', digits: 1 },
      { key: 'p99', heading: 'ms each, p99', digits: 1 },
      { key: 'refused', heading: 'refused' },
      { key: 'lists', heading: 'lists of all nodes' },
      { key: 'peak', heading: 'MB at most', digits: 1 },
    ],
    rows,
    notes: [
      'DELETE of 8 kB configs for real, as "oc adm prune renderedmachineconfigs --confirm" sends them, one after the other; free ones and those in use by turns. Without a webhook all of them are deleted.',
      'Everything that is refused must be, and everything else deleted, or the bench fails.',
      'Lists of all nodes: what the guard asked the API server for, by its audit log. MB at most: VmHWM of the replica that needed more, 10⁶ bytes.',
      '2 replicas: every other config belongs to the second one, as a Service would spread them; each has its own cache and shares its own reads.',
      `A node has ${(sizes.full / 1_000).toFixed(1)} kB of JSON, ${(sizes.metadata / 1_000).toFixed(1)} kB of it metadata; 3 pools.`,
    ],
  };
}
