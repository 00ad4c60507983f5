import { expect, test } from 'vitest';
import { ALLOW_DELETION_ANNOTATION, DEFAULT_SETTINGS, type Settings } from '../../src/decision/settings.ts';
import type { Review } from '../../src/decision/review.ts';
import type { Judgement } from '../../src/webhook/judgement.ts';
import { toConfigName } from '../../src/decision/config-name.ts';
import type { ClusterState, Referrer } from '../../src/decision/references.ts';
import { Judge } from '../../src/guard/judge.ts';
import { fail, fakeApi, type Handler, node, NODES, notServed, send } from '../support/fake-api.ts';
import { memoryLog } from '../support/log.ts';

const CONFIG = toConfigName('rendered-worker-a4983d88dabdc54ecf977ee120fd3796');
const OTHER = toConfigName('rendered-worker-b4983d88dabdc54ecf977ee120fd3796');

const REVIEW: Review = {
  uid: 'u',
  dryRun: false,
  user: 'someone',
  config: { name: CONFIG, uid: 'c', annotations: new Map() },
};

function user(name: string): Referrer {
  return { kind: 'Node', name, references: [{ field: 'currentConfig', config: CONFIG, strength: 'strong' }] };
}

interface Case {
  readonly index?: readonly Referrer[];
  readonly live?: ClusterState | Error;
  readonly get?: Handler;
  readonly policy?: Settings;
  readonly review?: Review;
}

async function judged({ index = [], live = { referrers: [], unreadable: [] }, get = notFound, policy, review }: Case) {
  const { api, asked } = await fakeApi(get);
  let liveReads = 0;
  const judge = new Judge({
    api,
    index: { findReferrers: () => index },
    live: {
      read: async () => {
        liveReads += 1;
        if (live instanceof Error) throw live;
        return await Promise.resolve(live);
      },
    },
    settings: () => policy ?? DEFAULT_SETTINGS,
    log: memoryLog().log,
  });
  const judgement: Judgement = await judge.judge(review ?? REVIEW, AbortSignal.timeout(3_000));
  return { ...judgement, gets: asked.map(({ path }) => path), liveReads };
}

const notFound: Handler = (_asked, response) => {
  notServed(response);
};

test('a referrer that the index knows and one GET confirms is enough to deny; nothing is listed', async () => {
  const it = await judged({
    index: [user('w0'), user('w1')],
    get: (_asked, response) => void send(response, JSON.stringify(node('w0', CONFIG))),
  });
  expect(it).toMatchObject({ path: 'index', verdict: { outcome: 'denied', code: 'MCG_IN_USE' }, liveReads: 0 });
  expect(it.gets).toEqual([`${NODES}/w0`]);
  // The others that the index knows are named too.
  expect(it.verdict.references.map(({ name }) => name)).toEqual(['w0', 'w1']);
});

test.each<[string, Handler]>([
  ['has moved on', (_asked, response) => void send(response, JSON.stringify(node('w0', OTHER)))],
  ['is gone', notFound],
  ['cannot be read', (_asked, response) => void fail(response, 500)],
])('a referrer of the index that %s decides nothing: everything is read', async (_title, get) => {
  const it = await judged({ index: [user('w0')], get });
  expect(it).toMatchObject({ path: 'live', verdict: { outcome: 'allowed', code: 'MCG_NOT_IN_USE' }, liveReads: 1 });
});

test('that the index knows no referrer is never enough to allow', async () => {
  const it = await judged({ index: [], live: { referrers: [user('w7')], unreadable: [] } });
  expect(it).toMatchObject({ path: 'live', verdict: { code: 'MCG_IN_USE' }, liveReads: 1, gets: [] });
});

test('what could not be read is refused as such', async () => {
  const live = { referrers: [], unreadable: [{ name: 'nodes', reason: 'gone' }] };
  expect(await judged({ live })).toMatchObject({ verdict: { outcome: 'denied', code: 'MCG_UNVERIFIED' } });
});

test('a fault inside is refused as "could not verify", softened only as the mode softens that', async () => {
  const live = new Error('bug');
  expect(await judged({ live })).toMatchObject({ verdict: { outcome: 'denied', code: 'MCG_UNVERIFIED' } });
  const warn: Settings = { mode: 'Warn', holdSupersededMs: 0 };
  expect(await judged({ live, policy: warn })).toMatchObject({
    verdict: { outcome: 'would-deny', cause: 'MCG_UNVERIFIED' },
  });
});

test.each([
  ['overridden', { policy: DEFAULT_SETTINGS, reason: 'ticket 7' }, 'MCG_OVERRIDDEN'],
  ['disabled', { policy: { mode: 'Disabled', holdSupersededMs: 0 }, reason: '' }, 'MCG_DISABLED'],
] as const)('%s: allowed without asking anything of the cluster', async (_title, { policy, reason }, code) => {
  const annotations = new Map([[ALLOW_DELETION_ANNOTATION, reason]]);
  const review = { ...REVIEW, config: { name: CONFIG, uid: 'c', annotations } };
  const it = await judged({ index: [user('w0')], review, policy });
  expect(it).toMatchObject({ path: 'none', verdict: { code }, liveReads: 0, gets: [] });
});
