import { expect, test } from 'vitest';
import { toConfigName } from '../../src/decision/config-name.ts';
import type { ClusterState, Referrer } from '../../src/decision/references.ts';
import type { Review } from '../../src/decision/review.ts';
import {
  ALLOW_DELETION_ANNOTATION,
  DEFAULT_SETTINGS,
  type Settings,
} from '../../src/decision/settings.ts';
import { Judge } from '../../src/guard/judge.ts';
import type { KubeApi } from '../../src/kube/api.ts';
import { ApiError } from '../../src/kube/errors.ts';
import { memoryLog } from '../support/log.ts';

const CONFIG = toConfigName('rendered-worker-a4983d88dabdc54ecf977ee120fd3796');
const REVIEW: Review = {
  uid: 'u',
  isDryRun: false,
  user: 'someone',
  config: { name: CONFIG, uid: 'c', annotations: new Map() },
};
const UNUSED: ClusterState = { referrers: [], unreadable: [] };
const UNREADABLE: ClusterState = { referrers: [], unreadable: [{ name: 'nodes', reason: 'gone' }] };

function referrer(name: string): Referrer {
  return {
    kind: 'Node',
    name,
    references: [{ field: 'currentConfig', config: CONFIG, strength: 'strong' }],
  };
}

function node(name: string, config: string) {
  return {
    metadata: { name, annotations: { 'machineconfiguration.openshift.io/currentConfig': config } },
  };
}

interface Situation {
  index?: readonly Referrer[];
  /** The answer to a GET. */
  object?: object | Error;
  live?: ClusterState | Error;
  settings?: Settings;
  review?: Review;
}

async function returnOrThrow<T>(result: T | Error): Promise<T> {
  if (result instanceof Error) throw result;
  return await Promise.resolve(result);
}

async function judge(situation: Situation) {
  const { index = [], object, live = UNUSED, settings = DEFAULT_SETTINGS, review = REVIEW } = situation;
  const gets: string[] = [];
  let liveReads = 0;
  const json = async ({ path }: { path: string }): Promise<unknown> => {
    gets.push(path);
    return await returnOrThrow(object);
  };
  const read = async (): Promise<ClusterState> => {
    liveReads += 1;
    return await returnOrThrow(live);
  };
  const judge = new Judge({
    api: { json } as unknown as KubeApi,
    index: { findReferrers: () => index },
    live: { read },
    settings: () => settings,
    log: memoryLog().log,
  });
  const { verdict, path } = await judge.judge(review, AbortSignal.timeout(3_000));
  const { outcome, code, cause, references } = verdict;
  return { outcome, code, cause, path, gets, liveReads, referrers: references.map(({ name }) => name) };
}

test('denies without a list when one GET confirms a referrer of the index', async () => {
  const result = await judge({ index: [referrer('w0'), referrer('w1')], object: node('w0', CONFIG) });
  expect(result).toMatchObject({ outcome: 'denied', code: 'MCG_IN_USE', path: 'index', liveReads: 0 });
  expect(result.gets).toEqual(['/api/v1/nodes/w0']);
  expect(result.referrers).toEqual(['w0', 'w1']);
});

test.each([
  ['names another config', node('w0', 'rendered-other')],
  ['does not exist', new ApiError(404, 'NotFound', 'not found')],
  ['is unreadable', new ApiError(500, 'InternalError', 'broken')],
])('reads everything when the referrer of the index %s', async (_case, object) => {
  const result = await judge({ index: [referrer('w0')], object });
  expect(result).toMatchObject({ outcome: 'allowed', code: 'MCG_NOT_IN_USE', path: 'live', liveReads: 1 });
});

const WARN: Settings = { mode: 'Warn', holdSupersededMs: 0 };

const USED: ClusterState = { ...UNUSED, referrers: [referrer('w7')] };
const BUG = new Error('bug');

test.each<[string, Situation, object]>([
  ['only the live read finds a referrer', { live: USED }, { code: 'MCG_IN_USE', path: 'live', gets: [] }],
  ['the live read is incomplete', { live: UNREADABLE }, { outcome: 'denied', code: 'MCG_UNVERIFIED' }],
  ['there is an internal error', { live: BUG }, { outcome: 'denied', code: 'MCG_UNVERIFIED' }],
  ['the mode is Warn', { live: BUG, settings: WARN }, { outcome: 'would-deny', cause: 'MCG_UNVERIFIED' }],
])('denies or would deny when %s', async (_case, situation, expected) => {
  expect(await judge(situation)).toMatchObject(expected);
});

test.each([
  ['the mode is Disabled', { mode: 'Disabled', holdSupersededMs: 0 }, '', 'MCG_DISABLED'],
  ['an annotation overrides the guard', DEFAULT_SETTINGS, 'ticket 7', 'MCG_OVERRIDDEN'],
] as const)('allows without a request when %s', async (_case, settings, reason, code) => {
  const annotations = new Map([[ALLOW_DELETION_ANNOTATION, reason]]);
  const review = { ...REVIEW, config: { name: CONFIG, uid: 'c', annotations } };
  const result = await judge({ index: [referrer('w0')], review, settings });
  expect(result).toMatchObject({ path: 'none', code, liveReads: 0, gets: [] });
});

test('shares GETs among 300 parallel denials', async () => {
  const gets: string[] = [];
  const json = async ({ path }: { path: string }): Promise<unknown> => {
    gets.push(path);
    return await Promise.resolve(node('w0', CONFIG));
  };
  const judge = new Judge({
    api: { json } as unknown as KubeApi,
    index: { findReferrers: () => [referrer('w0')] },
    live: { read: async () => await Promise.reject(new Error('no live read is necessary')) },
    settings: () => DEFAULT_SETTINGS,
    log: memoryLog().log,
  });
  const reviews = Array.from(
    { length: 300 },
    async () => await judge.judge(REVIEW, AbortSignal.timeout(3_000)),
  );
  const judgements = await Promise.all(reviews);
  expect(new Set(judgements.map(({ verdict }) => verdict.code))).toEqual(new Set(['MCG_IN_USE']));
  expect(gets).toHaveLength(3);
});
