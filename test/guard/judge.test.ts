import { expect, test } from 'vitest';
import { toConfigName } from '../../src/decision/config-name.ts';
import type { ClusterState, Referrer } from '../../src/decision/references.ts';
import type { Review } from '../../src/decision/review.ts';
import { DEFAULT_SETTINGS, type Settings } from '../../src/decision/settings.ts';
import { Judge } from '../../src/guard/judge.ts';
import type { KubeApi } from '../../src/kube/api.ts';
import { ApiError } from '../../src/kube/errors.ts';
import type { LookupResult } from '../../src/references/config-lookup.ts';
import { memoryLog } from '../support/log.ts';

const CONFIG = toConfigName('rendered-worker-a4983d88dabdc54ecf977ee120fd3796');
const REVIEW: Review = {
  uid: 'u',
  isDryRun: false,
  user: 'someone',
  config: { name: CONFIG, uid: 'c', createdAt: new Date(0) },
};
const UNUSED: ClusterState = { referrers: [], unreadable: [], readAt: new Date() };
const UNREADABLE: ClusterState = { ...UNUSED, unreadable: [{ name: 'nodes', reason: 'gone' }] };

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

const NO_HOLD: Settings = { mode: 'Enforce', holdSupersededMs: 0 };
/** A pool that has just left the config. */
const CHANGED: ClusterState = {
  ...UNUSED,
  referrers: [{ kind: 'MachineConfigPool', name: 'worker', references: [], specChangedAt: new Date() }],
};

interface Situation {
  index?: readonly Referrer[];
  /** The answer to a GET. */
  object?: object | Error;
  live?: ClusterState;
  /** The answer to the look-up of the config. */
  config?: LookupResult;
  /** One for each time that the judge asks, and the last one again; undefined is unread. */
  settings?: Settings | readonly (Settings | undefined)[];
  signal?: AbortSignal;
  review?: Review;
}

async function returnOrThrow<T>(result: T | Error): Promise<T> {
  if (result instanceof Error) throw result;
  return await Promise.resolve(result);
}

async function judge(situation: Situation) {
  const { index = [], object, live = UNUSED, settings = DEFAULT_SETTINGS, review = REVIEW } = situation;
  const { config = { state: 'exists' } } = situation;
  const allSettings = Array.isArray(settings) ? [...(settings as readonly (Settings | undefined)[])] : [settings];
  const gets: string[] = [];
  let liveReads = 0;
  let lookups = 0;
  const json = async ({ path }: { path: string }): Promise<unknown> => {
    gets.push(path);
    return await returnOrThrow(object);
  };
  const read = async (): Promise<ClusterState> => {
    liveReads += 1;
    return await Promise.resolve(live);
  };
  const judge = new Judge({
    api: { json } as unknown as KubeApi,
    index: { findReferrers: () => index },
    live: { read },
    configs: {
      isIndexed: () => config.state === 'exists',
      find: async () => {
        lookups += 1;
        return await Promise.resolve(config);
      },
    },
    createdAt: () => undefined,
    settings: () => (allSettings.length > 1 ? allSettings.shift() : allSettings[0]) as Settings | undefined,
    log: memoryLog().log,
  });
  const { verdict, path, configState } = await judge.judge(review, situation.signal ?? new AbortController().signal);
  const { outcome, code, cause, references } = verdict;
  const referrers = references.map(({ name }) => name);
  return { outcome, code, cause, path, configState, gets, liveReads, lookups, referrers };
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
  const result = await judge({ index: [referrer('w0')], object, settings: NO_HOLD });
  expect(result).toMatchObject({ outcome: 'allowed', code: 'MCG_NOT_IN_USE', path: 'live', liveReads: 1 });
});

const WARN: Settings = { mode: 'Warn', holdSupersededMs: 0 };

const USED: ClusterState = { ...UNUSED, referrers: [referrer('w7')] };

test.each<[string, Situation, object]>([
  ['only the live read finds a referrer', { live: USED }, { code: 'MCG_IN_USE', path: 'live', gets: [] }],
  ['the live read is incomplete', { live: UNREADABLE }, { outcome: 'denied', code: 'MCG_UNVERIFIED' }],
  ['the mode is Warn', { live: UNREADABLE, settings: WARN }, { outcome: 'would-deny', cause: 'MCG_UNVERIFIED' }],
])('denies or would deny when %s', async (_case, situation, expected) => {
  expect(await judge(situation)).toMatchObject(expected);
});

test.each([
  ['the mode is Disabled', { mode: 'Disabled', holdSupersededMs: 0 }, '', 'MCG_DISABLED'],
  ['an annotation overrides the guard', DEFAULT_SETTINGS, 'ticket 7', 'MCG_OVERRIDDEN'],
] as const)('allows without a request when %s', async (_case, settings, reason, code) => {
  const review = { ...REVIEW, config: { ...REVIEW.config, allowDeletion: reason } as Review['config'] };
  const result = await judge({ index: [referrer('w0')], review, settings });
  expect(result).toMatchObject({ path: 'none', code, liveReads: 0, gets: [] });
});

const OVERRIDE = {
  ...REVIEW,
  config: { ...REVIEW.config, allowDeletion: 'ticket 7' } as Review['config'],
};
const DISABLED: Settings = { mode: 'Disabled', holdSupersededMs: 0 };
const MISSING: LookupResult = { state: 'missing', reason: 'none has this name and uid' };
const UNKNOWN: LookupResult = { state: 'unknown', reason: 'the API server answered 403 Forbidden' };

test.each<[string, Situation, object]>([
  ['denies', { config: MISSING, index: [referrer('w0')] }, { code: 'MCG_UNVERIFIED', configState: 'missing' }],
  ['denies the override', { config: MISSING, review: OVERRIDE }, { code: 'MCG_UNVERIFIED' }],
  ['would deny in mode Warn', { config: MISSING, settings: WARN }, { cause: 'MCG_UNVERIFIED' }],
])('%s without a request if the config of a review does not exist', async (_case, situation, expected) => {
  expect(await judge(situation)).toMatchObject({ ...expected, path: 'none', liveReads: 0, gets: [] });
});

test('allows a review of another object without a request, as not about a config', async () => {
  const expected = { code: 'MCG_NOT_IN_USE', path: 'none', configState: 'missing', lookups: 0, gets: [] };
  expect(await judge({ review: { ...REVIEW, config: undefined } })).toMatchObject(expected);
});

test('allows without a look-up in mode Disabled', async () => {
  const expected = { code: 'MCG_DISABLED', configState: 'unknown', lookups: 0 };
  expect(await judge({ config: UNKNOWN, settings: DISABLED })).toMatchObject(expected);
});

test.each<[string, Situation, object]>([
  ['a config in use', { live: USED }, { code: 'MCG_IN_USE', liveReads: 1 }],
  ['an unused config', {}, { code: 'MCG_NOT_IN_USE', liveReads: 1 }],
  ['an override', { review: OVERRIDE }, { code: 'MCG_OVERRIDDEN', liveReads: 0 }],
])('decides about %s if the guard may not read configs', async (_case, situation, expected) => {
  expect(await judge({ ...situation, config: UNKNOWN })).toMatchObject({ ...expected, configState: 'unknown' });
});

const HOLD_24H: Settings = { mode: 'Enforce', holdSupersededMs: 24 * 3_600_000 };

test.each<[string, string, Situation]>([
  ['holds a config whose pool has just changed', 'MCG_HELD', { live: CHANGED }],
  ['holds no config without a hold', 'MCG_NOT_IN_USE', { live: CHANGED, settings: NO_HOLD }],
  ['is unverified while the settings are unread', 'MCG_UNVERIFIED', { settings: [undefined] }],
  ['denies a config in use while the settings are unread', 'MCG_IN_USE', { live: USED, settings: [undefined] }],
  ['overrides while the settings are unread', 'MCG_OVERRIDDEN', { review: OVERRIDE, settings: [undefined] }],
  [
    'uses the settings that were read while the live read ran',
    'MCG_HELD',
    { live: CHANGED, settings: [NO_HOLD, HOLD_24H] },
  ],
])('%s', async (_title, code, situation) => {
  expect(await judge(situation)).toMatchObject({ code });
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
    configs: { isIndexed: () => true, find: async () => await Promise.resolve({ state: 'exists' }) },
    createdAt: () => undefined,
    settings: () => DEFAULT_SETTINGS,
    log: memoryLog().log,
  });
  const reviews = Array.from({ length: 300 }, async () => await judge.judge(REVIEW, new AbortController().signal));
  const judgements = await Promise.all(reviews);
  expect(new Set(judgements.map(({ verdict }) => verdict.code))).toEqual(new Set(['MCG_IN_USE']));
  // The others join the second GET: the first one has been sent.
  expect(gets).toEqual(['/api/v1/nodes/w0', '/api/v1/nodes/w0']);
});
