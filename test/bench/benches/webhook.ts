import { GuardedCluster } from '../../e2e/support/guarded-cluster.ts';
import type { Bench, BenchContext, Table } from '../bench.ts';
import { askDirectly, overriddenReview, type WebhookClient, webhookClient } from '../direct-reviews.ts';
import { goalTable } from '../goals.ts';
import { type Contestant, interleave } from '../interleave.ts';
import { summary, summaryColumns } from '../percentiles.ts';
import { startPlainWebhook } from '../plain-webhooks.ts';

const BYTES_ONLY = 'node:https, bytes only';
const PEERS = {
  [BYTES_ONLY]: 'bytes',
  'node:https, JSON.parse': 'parse',
  'express.json': 'express',
} as const;
const GUARD = 'guard';

/** The size of a review, and how many are sent one after another and in parallel. */
interface Size {
  readonly title: string;
  readonly bytes: number;
  readonly rounds: number;
  readonly batches: number;
}

const FULL: readonly Size[] = [
  { title: '2 kB', bytes: 2_000, rounds: 1_000, batches: 40 },
  { title: '1 MB', bytes: 1_000_000, rounds: 200, batches: 20 },
  { title: '3 MB', bytes: 3_000_000, rounds: 80, batches: 10 },
];
const QUICK: readonly Size[] = FULL.map((size) => ({ ...size, rounds: 5, batches: 1 }));

/** In parallel: as many as an API server may well send at once. */
const PARALLEL = 8;
const BATCH = 4 * PARALLEL;

const bench: Bench = {
  question: 'How many reviews a second does the guard answer, against the least that a webhook in Node can do?',
  run,
};
export default bench;

async function run({ quick, binaries, log }: BenchContext): Promise<readonly Table[]> {
  const guarded = await GuardedCluster.start(binaries, { direct: true });
  try {
    const clients = new Map<string, WebhookClient>();
    for (const [who, kind] of Object.entries(PEERS)) {
      clients.set(who, webhookClient(await startPlainWebhook(guarded.controlPlane, kind), PARALLEL));
    }
    clients.set(GUARD, webhookClient(guarded.guard, PARALLEL));
    const rows: Table['rows'][number][] = [];
    for (const size of quick ? QUICK : FULL) {
      log(`reviews of ${size.title} …`);
      rows.push(...(await measure(clients, size)));
    }
    for (const { agent } of clients.values()) agent.destroy();
    return [table(rows), goals(rows)];
  } finally {
    await guarded.stop();
  }
}

async function measure(clients: ReadonlyMap<string, WebhookClient>, size: Size): Promise<Table['rows']> {
  const body = overriddenReview(size.bytes);
  const contestants = (once: (client: WebhookClient) => Promise<unknown>): readonly Contestant[] =>
    [...clients].map(([name, client]) => ({
      name,
      once: async () => {
        const begun = performance.now();
        await once(client);
        return performance.now() - begun;
      },
    }));
  const single = await interleave(
    contestants((client) => askDirectly(client, body)),
    { rounds: size.rounds, warmUp: Math.ceil(size.rounds / 10) },
  );
  const batches = await interleave(
    contestants((client) => Promise.all(Array.from({ length: BATCH }, () => askDirectly(client, body)))),
    { rounds: size.batches, warmUp: 1 },
  );
  const perSecond = (who: string) => (BATCH * 1_000) / summary(batches.get(who) ?? []).p50;
  return [...clients.keys()].map((who) => {
    const figures = summary(single.get(who) ?? []);
    return {
      size: size.title,
      who,
      ...figures,
      timesBytes: figures.p50 / summary(single.get(BYTES_ONLY) ?? []).p50,
      perSecond: perSecond(who),
      share: perSecond(who) / perSecond(BYTES_ONLY),
    };
  });
}

/** Where bodies are large, what a review costs beside its bytes must not matter. */
function goals(rows: Table['rows']): Table {
  const share = rows.find(({ size, who }) => size === '1 MB' && who === GUARD)?.['share'];
  return goalTable('Reviews of 1 MB against what was wanted', [
    {
      what: `time a review of 1 MB, ${PARALLEL} in parallel, × ${BYTES_ONLY}`,
      found: 1 / Number(share),
      atMost: 1 / 0.85,
    },
  ]);
}

function table(rows: Table['rows']): Table {
  return {
    title: 'Reviews over TLS, without an API server between, milliseconds',
    columns: [
      { key: 'size', heading: 'review' },
      { key: 'who', heading: 'who answers' },
      ...summaryColumns(2),
      { key: 'timesBytes', heading: `p50 × ${BYTES_ONLY}`, digits: 2 },
      { key: 'perSecond', heading: `a second, ${PARALLEL} in parallel` },
      { key: 'share', heading: 'share of bytes only', digits: 2 },
    ],
    rows,
    notes: [
      'One at a time, then in parallel; all are measured in turn, over kept connections, each in a process of its own.',
      'The client sends and encrypts on the same two cores, which is part of every figure.',
      '"Bytes only" reads the body and looks for the uid in its beginning. The guard checks the whole review, decides (overridden by annotation, a dry run: no look at the cluster), logs and counts.',
    ],
  };
}
