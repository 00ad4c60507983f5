import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiObject } from '../../../src/kube/api-object.ts';
import { KubeApi } from '../../../src/kube/api.ts';
import { loadConnection } from '../../../src/client/kubeconfig.ts';
import { METADATA, parseJsonList } from '../../../src/kube/lists/json-list.ts';
import { listCollection } from '../../../src/kube/lists/list.ts';
import { acceptHeaderForList, acceptHeaderForStreamedList } from '../../../src/kube/resource.ts';
import { parseNodeReferrer } from '../../../src/references/parse-referrer.ts';
import { NODES } from '../../../src/references/sources.ts';
import { PATHS } from '../../e2e/support/paths.ts';
import type { BenchCluster } from '../bench-cluster.ts';
import { measureAllowed } from '../deletions.ts';
import { NODE_SIZE } from '../fleet.ts';
import { getSummary, interleave, measureMs } from '../interleave.ts';
import { memoryOf, resetPeak } from '../memory.ts';
import { createColumns, createGoalTable, type Goal, type Row, summaryColumns, type Table } from '../table.ts';

export const question = 'How long do a live read and an allowed deletion take, and how much memory?';

/**
 * A list in protobuf takes 0.6, parsed. The rest is for the webhook call and the deletion itself, and for the lists of
 * pools and builds before and after, which wait for the API server's watch cache.
 */
const GOAL = 0.8;

const FULL = [
  { nodes: 5, rounds: 200 },
  { nodes: 500, rounds: 100 },
  { nodes: 2_000, rounds: 50 },
  { nodes: 5_000, rounds: 30 },
];
const QUICK = [{ nodes: 50, rounds: 10 }];
const REST_MS = 10_000;
const PARALLEL_READS = 20;
/** Of the guard in MB, at rest and at most in live reads. */
const MEMORY_GOALS = { now: 120, peak: 160 };

const JSON_BYTES = 'JSON, bytes only';
const DELETION = 'dry-run DELETE, allowed by the guard';
const JSON_ACCEPT = acceptHeaderForList(true);
const PROTOBUF_ACCEPT = acceptHeaderForStreamedList(true);

const TABLE = {
  title: 'A consistent metadata-only list of all nodes, milliseconds',
  columns: [
    ...createColumns({ nodes: 'nodes', how: 'how' }),
    ...summaryColumns(1),
    ...createColumns({ timesRaw: `p50 × ${JSON_BYTES}` }, 2),
  ],
  notes: [NODE_SIZE, 'The deletion goes through the API server and the guard, which lists pools and builds as well.'],
};

export async function run(cluster: BenchCluster, isQuick: boolean): Promise<readonly Table[]> {
  const api = new KubeApi(loadConnection({ kubeconfig: cluster.guarded.guard.kubeconfig }));
  const [used, unused] = [await cluster.config(), await cluster.config()];
  const deletion = { name: DELETION, measure: () => measureAllowed(cluster.admin, unused) };
  const rows: Row[] = [];
  const goals: Goal[] = [];
  for (const { nodes, rounds } of isQuick ? QUICK : FULL) {
    await cluster.growFleet(nodes, [used]);
    cluster.log(`${nodes} nodes: ${rounds} rounds …`);
    const reads = createReads(api, used, nodes).map(([name, read]) => ({
      name,
      measure: () => measureMs(read),
    }));
    const summaries = await interleave([...reads, deletion], rounds);
    const baseline = getSummary(summaries, JSON_BYTES).p50;
    for (const [how, summary] of summaries) rows.push({ nodes, how, ...summary, timesRaw: summary.p50 / baseline });
    const what = `${nodes} nodes: a deletion that is allowed, p50 × one list of the nodes in JSON, bytes only`;
    const found = getSummary(summaries, DELETION).p50 / baseline;
    if (nodes >= 2_000) goals.push({ what, found, atMost: GOAL });
    if (nodes >= 5_000) goals.push(...(await measureMemory(cluster, nodes, unused)));
  }
  api.close();
  return [{ ...TABLE, rows }, createGoalTable('An allowed deletion, the memory, and their goals', goals)];
}

async function measureMemory({ admin, guarded }: BenchCluster, nodes: number, unused: string): Promise<Goal[]> {
  const { pid } = guarded.guard;
  await sleep(REST_MS);
  const { now } = await memoryOf(pid);
  await resetPeak(pid);
  await Promise.all(Array.from({ length: PARALLEL_READS }, () => measureAllowed(admin, unused)));
  const { peak } = await memoryOf(pid);
  return [
    { what: `${nodes} nodes: resident memory of the guard at rest, MB`, found: now, atMost: MEMORY_GOALS.now },
    { what: `${nodes} nodes: in ${PARALLEL_READS} parallel live reads, MB`, found: peak, atMost: MEMORY_GOALS.peak },
  ];
}

/** Ways to list the nodes. Parsers must find the config in all of them. */
function createReads(api: KubeApi, config: string, nodes: number): readonly (readonly [string, () => Promise<void>])[] {
  const { signal } = new AbortController();
  const list = async (accept: string): Promise<AsyncIterable<Buffer>> =>
    (await api.request({ path: PATHS.nodes, accept, signal: AbortSignal.timeout(30_000) })).body;
  const discard = async (accept: string) => {
    for await (const chunk of await list(accept)) void chunk;
  };
  const parse = async (forEachObject: (onObject: (object: ApiObject) => void) => Promise<unknown>) => {
    let found = 0;
    await forEachObject((object) => {
      if (parseNodeReferrer(object).references.some((reference) => reference.config === config)) found += 1;
    });
    if (found !== nodes) throw new Error(`found ${found} nodes, not ${nodes}`);
  };
  const parseJson = async (onObject: (object: ApiObject) => void) => {
    const chunks: Buffer[] = [];
    for await (const chunk of await list(JSON_ACCEPT)) chunks.push(chunk);
    parseJsonList(Buffer.concat(chunks).toString('utf8'), [METADATA]).items.forEach(onObject);
  };
  return [
    [JSON_BYTES, () => discard(JSON_ACCEPT)],
    ['JSON, parsed', () => parse(parseJson)],
    ['protobuf, bytes only', () => discard(PROTOBUF_ACCEPT)],
    [
      'protobuf, as the guard parses it',
      () => parse((onObject) => listCollection(api, PATHS.nodes, NODES, onObject, signal)),
    ],
  ];
}
