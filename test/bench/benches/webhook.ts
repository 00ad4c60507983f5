import type { BenchCluster } from '../bench-cluster.ts';
import { getSummary, interleave, measureMs } from '../interleave.ts';
import type { NodeWebhookKind } from '../peers/node-webhook.ts';
import { nodeProgram, startWebhook } from '../peers/webhook-process.ts';
import { createColumns, createGoalTable, type Row, summaryColumns, type Table } from '../table.ts';
import { WebhookClient } from '../webhook-client.ts';

export const question = 'How many reviews a second does the guard answer, compared with a minimal webhook in Node?';

const BYTES_ONLY = 'node:https, bytes only';
const JSON_PARSE = 'node:https, JSON.parse';
const PEERS: readonly (readonly [name: string, kind: NodeWebhookKind])[] = [
  [BYTES_ONLY, 'bytes'],
  [JSON_PARSE, 'parse'],
];
const GUARD = 'guard';

interface Size {
  readonly title: string;
  readonly bytes: number;
  readonly rounds: number;
  readonly batches: number;
}

const FULL: readonly Size[] = [
  { title: '2 kB', bytes: 2_000, rounds: 1_000, batches: 40 },
  { title: '1 MB', bytes: 1_000_000, rounds: 200, batches: 20 },
  { title: '1.5 MB', bytes: 1_500_000, rounds: 80, batches: 10 },
];
const QUICK: readonly Size[] = FULL.map((size) => ({ ...size, rounds: 5, batches: 1 }));

const PARALLEL = 8;
const BATCH_SIZE = 4 * PARALLEL;

const TABLE = {
  title: 'Reviews over TLS, without an API server between, milliseconds',
  columns: [
    ...createColumns({ size: 'review', who: 'who answers' }),
    ...summaryColumns(2),
    ...createColumns({ timesBytes: `p50 × ${BYTES_ONLY}` }, 2),
    ...createColumns({ perSecond: `a second, ${PARALLEL} in parallel` }),
    ...createColumns({ share: 'share of bytes only' }, 2),
  ],
  notes: [
    'One at a time, then in parallel. Each figure includes the work of the client on the same two cores.',
    '"Bytes only" reads the body and looks for the uid at its start. The guard parses and checks the ' +
      'review, allows it because of an annotation, logs and counts.',
  ],
};

export async function run(cluster: BenchCluster, isQuick: boolean): Promise<readonly Table[]> {
  const { guarded } = cluster;
  const clients: [string, WebhookClient][] = [];
  for (const [name, kind] of PEERS) {
    const webhook = await startWebhook(guarded.controlPlane, nodeProgram(kind));
    clients.push([name, new WebhookClient(webhook, PARALLEL)]);
  }
  clients.push([GUARD, new WebhookClient(guarded.guard, PARALLEL)]);
  const rows: Row[] = [];
  for (const size of isQuick ? QUICK : FULL) {
    cluster.log(`reviews of ${size.title} …`);
    rows.push(...(await measureSize(clients, await cluster.createOverriddenReview(size.bytes), size)));
  }
  for (const [, client] of clients) client.close();
  const findShare = (name: string) => Number(rows.find(({ size, who }) => size === '1 MB' && who === name)?.['share']);
  const what = `time a review of 1 MB, ${PARALLEL} in parallel, × ${JSON_PARSE}`;
  // The guard parses the whole review, too (docs/adr/0008).
  const goal = { what, found: findShare(JSON_PARSE) / findShare(GUARD), atMost: 1.2 };
  return [{ ...TABLE, rows }, createGoalTable('Reviews of 1 MB and their goal', [goal])];
}

async function measureSize(
  clients: readonly (readonly [string, WebhookClient])[],
  review: Buffer,
  { title, rounds, batches }: Size,
): Promise<readonly Row[]> {
  const createMeasurements = (send: (client: WebhookClient) => Promise<unknown>) =>
    clients.map(([name, client]) => ({ name, measure: () => measureMs(() => send(client)) }));
  const singles = createMeasurements((client) => client.expectAllowed(review));
  const parallels = createMeasurements((client) =>
    Promise.all(Array.from({ length: BATCH_SIZE }, () => client.expectAllowed(review))),
  );
  const single = await interleave(singles, rounds);
  const parallel = await interleave(parallels, batches);
  return [...single].map(([who, summary]) => ({
    size: title,
    who,
    ...summary,
    timesBytes: summary.p50 / getSummary(single, BYTES_ONLY).p50,
    perSecond: (BATCH_SIZE * 1_000) / getSummary(parallel, who).p50,
    share: getSummary(parallel, BYTES_ONLY).p50 / getSummary(parallel, who).p50,
  }));
}
