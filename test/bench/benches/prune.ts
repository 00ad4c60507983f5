import PQueue from 'p-queue';
import { GUARD_USER } from '../../e2e/support/guarded-cluster.ts';
import { PATHS } from '../../e2e/support/paths.ts';
import type { BenchCluster } from '../bench-cluster.ts';
import { isInTime } from '../deletions.ts';
import { memoryOf, resetPeak } from '../memory.ts';
import { guardProgram, type RunningWebhook, startWebhook } from '../peers/webhook-process.ts';
import { summarize } from '../statistics.ts';
import { createColumns, type Row, type Table } from '../table.ts';

export const question = 'How does the cost of a prune grow with the nodes, the configs and the replicas?';

/** The guards of a prune. Each one reviews an equal share of the configs. */
interface Replicas {
  readonly who: string;
  readonly candidates: readonly string[];
}

const NONE: Replicas = { who: 'no webhook', candidates: ['no webhook'] };
const ONE: Replicas = { who: 'guard', candidates: ['guard'] };
const TWO: Replicas = { who: 'guard, 2 replicas', candidates: ['replica 1', 'replica 2'] };

const CONFIG_BYTES = 8_000;

const FULL = { fleets: [100, 500, 2_000], counts: [75, 300] };
const QUICK = { fleets: [20, 50], counts: [10, 40] };

const TABLE = {
  title: 'A prune of rendered configs, half of them in use',
  columns: [
    ...createColumns({ nodes: 'nodes', configs: 'configs', who: 'who decides', how: 'how' }),
    ...createColumns({ seconds: 's in all', p50: 'ms each, p50', p99: 'ms each, p99' }, 1),
    ...createColumns({ refused: 'refused', lists: 'lists of all nodes' }),
    ...createColumns({ peak: 'MB at most' }, 1),
  ],
  notes: [
    'DELETE of 8 kB configs for real, as "oc adm prune renderedmachineconfigs --confirm" sends them, one after the ' +
      'other; free ones and those in use by turns. Without a webhook all of them are deleted.',
    'Everything that is refused must be, and everything else deleted, or the bench fails.',
    'Lists of all nodes: what the guard asked the API server for, by its audit log. MB at most: VmHWM of the ' +
      'replica that needed more, 10⁶ bytes.',
    '2 replicas: every other config belongs to the second one, as a Service would spread them; each has its own ' +
      'cache and shares its own reads.',
  ],
};

export async function run(cluster: BenchCluster, isQuick: boolean): Promise<readonly Table[]> {
  const { fleets, counts } = isQuick ? QUICK : FULL;
  const { guarded } = cluster;
  await cluster.stopGuard();
  const guards: RunningWebhook[] = [];
  const startGuard = async (...candidates: readonly string[]) => {
    const guard = await startWebhook(guarded.controlPlane, guardProgram(), guarded.kubeconfig);
    for (const candidate of candidates) await cluster.registerWebhook(candidate, guard);
    guards.push(guard);
  };
  await startGuard('guard', 'replica 1');
  await cluster.createPools();
  const usedByOne = await createConfigs(cluster, ONE, Math.max(...counts) / 2);
  const usedByTwo = await createConfigs(cluster, TWO, Math.max(...counts) / 2);
  const rows: Row[] = [];
  const pruneAll = async (nodes: number, replicas: Replicas, used: readonly string[]) => {
    for (const configs of counts) {
      for (const parallel of [1, 8, configs]) {
        const parallelism = parallel === configs ? 'all at once' : `${parallel} at a time`;
        const how = parallel === 1 ? 'one after the other' : parallelism;
        cluster.log(`${nodes} nodes, ${configs} configs, ${replicas.who}, ${how} …`);
        const configsInUse = used.slice(0, configs / 2);
        const unused = await createConfigs(cluster, replicas, configs - configsInUse.length);
        const figures = await measurePrune(cluster, guards, configsInUse, unused, parallel);
        const guardFigures = replicas === NONE ? { lists: null, peak: null } : {};
        rows.push({ nodes, configs, who: replicas.who, how, ...figures, ...guardFigures });
      }
    }
  };
  for (const nodes of fleets) {
    // The configs of one guard come first, so that a small fleet names all of them.
    await cluster.growFleet(nodes, [...usedByOne, ...usedByTwo]);
    await pruneAll(nodes, NONE, []);
    await pruneAll(nodes, ONE, usedByOne);
  }
  await startGuard('replica 2');
  await pruneAll(Math.max(...fleets), TWO, usedByTwo);
  return [{ ...TABLE, rows, notes: [...TABLE.notes, `${await cluster.describeNodeSize()}; 3 pools.`] }];
}

async function createConfigs(cluster: BenchCluster, { candidates }: Replicas, count: number): Promise<string[]> {
  const configs: string[] = [];
  while (configs.length < count) {
    const candidate = candidates[configs.length % candidates.length] ?? '';
    configs.push(await cluster.createConfig(candidate, CONFIG_BYTES));
  }
  return configs;
}

/** Deletes unused configs and configs in use by turns. */
async function measurePrune(
  cluster: BenchCluster,
  guards: readonly RunningWebhook[],
  configsInUse: readonly string[],
  unused: readonly string[],
  parallel: number,
): Promise<Row> {
  const queue = new PQueue({ concurrency: parallel });
  const deletions = unused.flatMap((config, index) => [config, ...configsInUse.slice(index, index + 1)]);
  const listsBefore = await cluster.countNodeLists(GUARD_USER);
  for (const { pid } of guards) await resetPeak(pid);
  const startedAt = performance.now();
  const times = await queue.addAll(
    deletions.map((config) => async () => {
      const response = await cluster.admin.delete(`${PATHS.configs}/${config}`);
      const answer = configsInUse.includes(config) ? 403 : 200;
      if (!isInTime(response, { candidate: 'the guard', answer })) throw new Error('The guard was late.');
      return response.ms;
    }),
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  const peaks = await Promise.all(guards.map(async ({ pid }) => (await memoryOf(pid)).peak));
  const lists = (await cluster.countNodeLists(GUARD_USER)) - listsBefore;
  const { p50, p99 } = summarize(times);
  return { seconds, p50, p99, refused: configsInUse.length, lists, peak: Math.max(...peaks) };
}
