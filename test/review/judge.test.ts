import { expect, test, vi } from 'vitest';
import type { Referrer } from '../../src/mco/referrer.ts';
import { indexOf } from '../support/reference-index.ts';
import { toClusterState } from '../support/cluster-state.ts';
import { DEFAULT_SETTINGS as SETTINGS, type Settings } from '../../src/api/settings.ts';
import { Judge } from '../../src/review/judge.ts';
import type { KubeApi } from '../../src/kube/api.ts';
import { ApiError } from '../../src/kube/errors.ts';
import type { LiveReader } from '../../src/references/live-reader.ts';
import { memoryLog } from '../support/log.ts';
import { nodeReferrer } from '../support/referrers.ts';
import { toConfigName } from '../../src/mco/machine-config.ts';
import type { ClusterState } from '../../src/references/cluster-state.ts';
import type { ConfigIndex, LookupResult } from '../../src/references/config-index.ts';
import type { Review } from '../../src/review/review.ts';

const CONFIG = toConfigName('rendered-worker-a4983d88dabdc54ecf977ee120fd3796');
const DELETED = { name: CONFIG, uid: 'c', createdAt: new Date(0) };
const REVIEW: Review = { uid: 'u', isDryRun: false, user: 'someone', config: DELETED };
const OVERRIDE: Review = { ...REVIEW, config: { ...DELETED, allowDeletion: 'ticket 7' } };

const referrer = (name: string) => nodeReferrer(name, CONFIG, 'currentConfig');

const UNUSED = toClusterState(CONFIG, []);
const UNREADABLE: ClusterState = { ...UNUSED, unreadable: [{ name: 'nodes', reason: 'gone' }] };
const USED = toClusterState(CONFIG, [referrer('w7')]);
/** A pool that has just left the config. */
const CHANGED = toClusterState(CONFIG, [
  { kind: 'MachineConfigPool', name: 'worker', references: [], specChangedAt: new Date() },
]);

const NO_HOLD: Settings = { mode: 'Enforce', holdSupersededMs: 0 };
const WARN: Settings = { ...NO_HOLD, mode: 'Warn' };
const DISABLED: Settings = { ...NO_HOLD, mode: 'Disabled' };

const MISSING: LookupResult = { state: 'missing', reason: 'none has this name and uid' };
/** A verdict that says what could not be read. */
const unverified = (reason: string) => {
  return { code: 'MCG_UNVERIFIED', message: expect.stringContaining(`is in use (${reason})`) as string };
};
const UNKNOWN: LookupResult = { state: 'unknown', reason: 'the API server answered 403 Forbidden' };

function node(config: string) {
  return { metadata: { name: 'w0', annotations: { 'machineconfiguration.openshift.io/currentConfig': config } } };
}

interface Situation {
  index?: readonly Referrer[];
  /** The answer to a GET. */
  object?: object | Error;
  live?: ClusterState;
  /** The answer to the look-up of the config. */
  config?: LookupResult;
  /** One for each time that the judge asks, and the last one again; undefined is unread. */
  settings?: readonly (Settings | undefined)[];
  review?: Review;
  /** What the deadline comes before. By default, there is none. */
  deadlineBefore?: 'review' | 'end of the look-up';
}

const LATE: Situation = { config: UNKNOWN, deadlineBefore: 'end of the look-up' };

async function judge(situation: Situation) {
  const { index = [], object = new Error(), live = UNUSED, settings = [SETTINGS], review = REVIEW } = situation;
  const { config = { state: 'exists' }, deadlineBefore } = situation;
  const deadline = new AbortController();
  if (deadlineBefore === 'review') deadline.abort();
  const allSettings = [...settings];
  const json = vi.fn<(request: { path: string; accept?: string }) => Promise<unknown>>(async () => {
    return await (object instanceof Error ? Promise.reject(object) : Promise.resolve(object));
  });
  const read = vi.fn<LiveReader['read']>(async () => await Promise.resolve(live));
  const lookUp = vi.fn<ConfigIndex['lookUp']>(async () => {
    if (deadlineBefore !== undefined) deadline.abort();
    return await Promise.resolve(config);
  });
  const judge = new Judge({
    api: { json } as unknown as KubeApi,
    index: indexOf(index),
    live: { read },
    configs: { has: () => config.state === 'exists', lookUp },
    history: { createdAt: () => undefined },
    settings: {
      get settings() {
        return allSettings.length > 1 ? allSettings.shift() : allSettings[0];
      },
    },
    log: memoryLog().log,
  });
  const { verdict, ...judged } = await judge.judge(review, deadline.signal);
  return {
    ...verdict,
    ...judged,
    gets: json.mock.calls.map(([{ path }]) => path),
    accepts: json.mock.calls.map(([{ accept }]) => accept),
    liveReads: read.mock.calls.length,
    lookups: lookUp.mock.calls.length,
    isLookupLimited: lookUp.mock.calls[0]?.[2] !== deadline.signal,
  };
}

test('denies without a list when one GET confirms a referrer of the index', async () => {
  const weak = { ...referrer('w9'), references: [] };
  const result = await judge({ index: [weak, referrer('w0'), referrer('w1')], object: node(CONFIG) });
  expect(result).toMatchObject({ outcome: 'denied', code: 'MCG_IN_USE', path: 'index', configState: 'exists' });
  expect(result).toMatchObject({ liveReads: 0, lookups: 0 });
  expect(result.gets).toEqual(['/api/v1/nodes/w0']);
  expect(result.references.map(({ name }) => name)).toEqual(['w0', 'w1']);
});

function pool(name: string, label: string): Referrer {
  return { kind: 'MachineConfigPool', name, references: [], nodeSelector: { matchLabels: { [label]: '' } } };
}

test.each([
  ['no pool', { other: '' }, 'Node w0 is in no pool'],
  ['two custom pools', { rt: '', infra: '', master: '' }, 'Node w0 is in the custom pools infra and rt'],
  ['one pool', { master: '' }, undefined],
])('denies the config of a node in %s with %j: %s', async (_case, labels, text) => {
  const pools = ['infra', 'master', 'rt'].map((name) => pool(name, name));
  const { metadata } = node(CONFIG);
  const { message } = await judge({ index: [referrer('w0'), ...pools], object: { metadata: { ...metadata, labels } } });
  expect(/Node w0 is in [^,]+/.exec(message)?.[0]).toBe(text);
});

const NOT_READY = { type: 'Ready', status: 'Unknown', lastTransitionTime: '2026-11-19T08:00:00Z' };
const SINCE = 'Only a node that is NotReady since 2026-11-19T08:00:00Z names it';

test.each<[string, readonly string[], unknown, string | undefined, boolean]>([
  ['one that is not Ready', ['w0'], [NOT_READY], SINCE, true],
  ['one that is Ready', ['w0'], [{ ...NOT_READY, status: 'True' }], undefined, true],
  ['one that does not say so', ['w0'], [], undefined, true],
  ['one whose conditions are unreadable', ['w0'], 'malformed', undefined, true],
  ['one whose condition has no time', ['w0'], [{ ...NOT_READY, lastTransitionTime: null }], undefined, true],
  ['several of which one is not Ready', ['w0', 'w1'], [NOT_READY], undefined, false],
])('denies the config of %s with one GET', async (_case, names, conditions, text, isWhole) => {
  const object = { ...node(CONFIG), status: { conditions } };
  const result = await judge({ index: names.map(referrer), object });
  expect(result).toMatchObject({ code: 'MCG_IN_USE', path: 'index', gets: ['/api/v1/nodes/w0'] });
  expect(/Only a node [^.]+/.exec(result.message)?.[0]).toBe(text);
  expect(result.accepts[0] === undefined).toBe(isWhole);
});

test.each([
  ['names another config', node('rendered-other')],
  ['does not exist', new ApiError(404, 'NotFound', 'not found')],
  ['is unreadable', new ApiError(500, 'InternalError', 'broken')],
])('reads everything when the referrer of the index %s', async (_case, object) => {
  const result = await judge({ index: [referrer('w0')], object, settings: [NO_HOLD] });
  expect(result).toMatchObject({ outcome: 'allowed', code: 'MCG_NOT_IN_USE', path: 'live', liveReads: 1 });
});

test.each<[string, Situation, object]>([
  [
    'allows without a look-up in mode Disabled',
    { config: UNKNOWN, settings: [DISABLED] },
    { code: 'MCG_DISABLED', lookups: 0 },
  ],
  ['allows an override', { review: OVERRIDE }, { code: 'MCG_OVERRIDDEN' }],
  [
    'denies if the config does not exist',
    { config: MISSING },
    { ...unverified(`machineconfigs: ${MISSING.reason}`), configState: 'missing' },
  ],
  ['denies if it is unknown at the deadline whether the config exists', LATE, { code: 'MCG_UNVERIFIED' }],
  ['allows an override also at the deadline', { ...LATE, review: OVERRIDE }, { outcome: 'overridden' }],
  [
    'allows an override also after the deadline',
    { config: UNKNOWN, deadlineBefore: 'review', review: OVERRIDE },
    { outcome: 'overridden' },
  ],
  ['would deny in mode Warn', { config: MISSING, settings: [WARN] }, { cause: 'MCG_UNVERIFIED' }],
  [
    'allows a review of another object, as not about a config',
    { review: { ...REVIEW, config: undefined } },
    { code: 'MCG_NOT_RENDERED', configState: 'missing', lookups: 0 },
  ],
])('without a request, %s', async (_case, situation, expected) => {
  const nothing = { path: 'none', liveReads: 0, gets: [] };
  expect(await judge({ index: [referrer('w0')], ...situation })).toMatchObject({ ...expected, ...nothing });
});

test.each<[string, Situation, object]>([
  ['a config in use', { live: USED }, { code: 'MCG_IN_USE', liveReads: 1, isLookupLimited: false }],
  ['an unused config', {}, { code: 'MCG_NOT_IN_USE', liveReads: 1 }],
  ['an override', { review: OVERRIDE }, { code: 'MCG_OVERRIDDEN', liveReads: 0, isLookupLimited: true }],
])('decides about %s if the guard may not read configs', async (_case, situation, expected) => {
  expect(await judge({ ...situation, config: UNKNOWN })).toMatchObject({ ...expected, configState: 'unknown' });
});

test.each<[string, Situation, object]>([
  ['denies if only the live read finds a referrer', { live: USED }, { code: 'MCG_IN_USE', path: 'live', gets: [] }],
  ['denies if the live read is incomplete', { live: UNREADABLE }, { outcome: 'denied', code: 'MCG_UNVERIFIED' }],
  ['holds a config whose pool has just changed', { live: CHANGED }, { code: 'MCG_HELD' }],
  [
    'is unverified while the settings are unread',
    { settings: [undefined] },
    unverified('machineconfigguards: not read yet'),
  ],
  ['denies while the settings are unread', { live: USED, settings: [undefined] }, { code: 'MCG_IN_USE' }],
  [
    'uses the settings that apply after the live read',
    { live: CHANGED, settings: [NO_HOLD, SETTINGS] },
    { code: 'MCG_HELD' },
  ],
])('%s', async (_title, situation, expected) => {
  expect(await judge(situation)).toMatchObject(expected);
});
