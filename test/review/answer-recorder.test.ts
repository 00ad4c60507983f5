import { type OpenMetricsContentType, Registry } from 'prom-client';
import { beforeEach, expect, test, vi } from 'vitest';
import { decide, denyBadReview, denyUnverified } from '../../src/review/decide.ts';
import type { Verdict } from '../../src/review/verdict.ts';
import { DEFAULT_SETTINGS, type Settings } from '../../src/api/settings.ts';
import { AnswerRecorder } from '../../src/review/answer-recorder.ts';
import { memoryLog } from '../support/log.ts';
import { nodeReferrer } from '../support/referrers.ts';
import { CALL } from '../support/review.ts';
import { fakeUntilEnd } from '../support/until-end.ts';
import { toConfigName } from '../../src/mco/machine-config.ts';
import { toClusterState } from '../support/cluster-state.ts';
import type { ConfigState, Review } from '../../src/review/review.ts';

const NAME = toConfigName('rendered-worker-a4983d88dabdc54ecf977ee120fd3796');
const CONFIG = { name: NAME, uid: 'config-uid', createdAt: undefined };
const REVIEW: Review = { uid: 'review-uid', isDryRun: false, user: 'kube:admin', config: CONFIG };
const USED = toClusterState(NAME, [nodeReferrer('w0', NAME, 'currentConfig')]);
const AUDIT: Settings = { mode: 'Audit', holdSupersededMs: 0 };

/** As much of a longer reason as the log has. */
const REASON = 'x'.repeat(253);
const decideUsed = (review = REVIEW, settings = DEFAULT_SETTINGS) =>
  decide(review, USED, settings, { createdAt: () => undefined });
const IN_USE = decideUsed();
const WOULD_DENY = decideUsed(REVIEW, AUDIT);
const OVERRIDDEN = decideUsed({ ...REVIEW, config: { ...CONFIG, allowDeletion: `${REASON}\u202eyyy` } });
const ALLOWED = decideUsed(REVIEW, { mode: 'Disabled', holdSupersededMs: 0 });
const UNVERIFIED = denyUnverified(NAME, [{ name: 'nodes', reason: 'gone' }], DEFAULT_SETTINGS);
const NOW = new Date('2026-11-21T12:00:00Z');
const ABOUT = `machineconfiguration.openshift.io/v1 MachineConfig ${NAME} ${CONFIG.uid} Delete`;
const DENIAL_EVENT = `${ABOUT} DeletionDenied: kube:admin: ${IN_USE.message}`;
const NOTHING = { events: [], lastDenial: undefined, deletions: {} };
const DENIAL = { time: NOW, name: NAME, user: 'kube:admin', referrers: IN_USE.references };
const DELETION = { [NAME]: { time: NOW, user: 'kube:admin' } };
const OVERRIDE = { [NAME]: { ...DELETION[NAME], reason: `${REASON}...` } };
const OVERRIDE_EVENT = `${ABOUT} DeletionOverridden: kube:admin: ${OVERRIDDEN.message}: ${REASON}...`;

let recorder: AnswerRecorder;
let registry: Registry<OpenMetricsContentType>;
let lines: Record<string, unknown>[];
/** The Events. */
let events: string[];
/** Of each Event, what distinguishes it from others of its config and reason. */
let variants: (string | undefined)[];

beforeEach(() => {
  fakeUntilEnd('performance');
  events = [];
  variants = [];
  const memory = memoryLog();
  ({ lines } = memory);
  registry = new Registry();
  recorder = new AnswerRecorder({
    log: memory.log,
    registry,
    events: {
      record: ({ regarding, action, reason, note, variant }) => {
        variants.push(variant);
        events.push(`${Object.values(regarding).join(' ')} ${action} ${reason}: ${note}`);
      },
    },
    now: () => NOW,
  });
});

function record(verdict: Verdict, configState: ConfigState, { review = REVIEW, address = '10.0.0.1' } = {}) {
  recorder.record({ review, verdict, path: 'none', configState }, { ...CALL, address });
}

/** What the recorder has left for others. */
function readRecords() {
  return { events, lastDenial: recorder.lastDenial, deletions: Object.fromEntries(recorder.deletions.entries()) };
}

/** The series that are not 0, as `labels value`. */
async function readMetric(name: string): Promise<readonly string[]> {
  const lines = (await registry.getSingleMetricAsString(name)).split('\n').filter((line) => line.startsWith(name));
  return lines.map((line) => line.slice(name.length)).filter((line) => !line.endsWith(' 0'));
}

test.each<[string, Verdict, ConfigState, Review, object]>([
  ['a denial', IN_USE, 'exists', REVIEW, { lastDenial: DENIAL, events: [DENIAL_EVENT] }],
  ['a denied dry run', IN_USE, 'exists', { ...REVIEW, isDryRun: true }, {}],
  ['what Audit allows', WOULD_DENY, 'exists', REVIEW, { deletions: DELETION }],
  ['an allowed deletion', ALLOWED, 'exists', REVIEW, { deletions: DELETION }],
  ['an allowed deletion without the API server', ALLOWED, 'unknown', REVIEW, {}],
  ['an override', OVERRIDDEN, 'exists', REVIEW, { deletions: OVERRIDE, events: [OVERRIDE_EVENT] }],
  ['a denial without the API server', UNVERIFIED, 'unknown', REVIEW, {}],
])('logs and counts %s', async (_case, verdict, configState, review, expected) => {
  record(verdict, configState, { review });
  expect(readRecords()).toEqual({ ...NOTHING, ...expected });
  const labels = `{verdict="${verdict.outcome}",code="${verdict.code}",dry_run="${review.isDryRun}"}`;
  expect(await readMetric('mcguard_decisions_total')).toEqual([`${labels} 1`]);
  expect(await readMetric('mcguard_webhook_calls_total')).toEqual(['{authorization="false"} 1']);
  const { code, outcome, config = '' } = verdict;
  const fields = { uid: 'review-uid', user: 'kube:admin', code, verdict: outcome, name: config, ms: 12 };
  const referrers = verdict.references.map(() => ({ kind: 'Node', name: 'w0', field: 'currentConfig' }));
  const reason = outcome === 'overridden' ? { overrideReason: `${REASON}...` } : {};
  const others = { dryRun: review.isDryRun, path: 'none', referrers, referrersTotal: referrers.length };
  expect(lines).toMatchObject([{ ...fields, ...others, ...reason }]);
  expect(lines[0]?.['level']).toBe(outcome === 'allowed' ? 30 : 40);
});

function recordMany(count: number, verdict: Verdict, configState: ConfigState, lastDigits = 1) {
  for (let at = 0; at < count; at += 1) record(verdict, configState, { address: `10.0.0.${9 - (at % lastDigits)}` });
}

test.each<[string, Verdict, ConfigState, string, object]>([
  [
    'of a config that does not exist apart',
    UNVERIFIED,
    'missing',
    'mcguard_missing_config_reviews_total',
    { msg: 'answered a review of an unknown config', name: NAME, code: 'MCG_UNVERIFIED' },
  ],
  [
    'that is malformed',
    denyBadReview('not JSON'),
    'unknown',
    'mcguard_decisions_total',
    { msg: 'received a malformed review', problem: expect.stringContaining('not JSON') as string },
  ],
])('counts a review %s, and logs one in 10 s', async (_case, verdict, configState, metric, line) => {
  recordMany(20, verdict, configState);
  for (const ms of [9_999, 1]) {
    vi.advanceTimersByTime(ms);
    record(verdict, configState);
  }
  expect(await readMetric(metric)).toEqual([expect.stringMatching(/ 22$/)]);
  expect(readRecords()).toEqual(NOTHING);
  expect(lines).toMatchObject([line, { ...line, suppressed: 20 }]);
});

test('lets an Event of another code or user not be taken for a repetition', () => {
  for (const verdict of [IN_USE, UNVERIFIED]) record(verdict, 'exists');
  record(IN_USE, 'exists', { review: { ...REVIEW, user: 'other' } });
  record(IN_USE, 'exists');
  expect(variants).toHaveLength(4);
  expect(new Set(variants).size).toBe(3);
});

const countLogged = (code: string) => lines.filter((line) => line['code'] === code).length;

test('logs 5,000 reviews of an address at once and 20 per second, and counts all', async () => {
  recordMany(6_000, IN_USE, 'exists');
  expect(countLogged('MCG_IN_USE')).toBe(5_000);
  expect(events).toHaveLength(5_000);
  expect(await readMetric('mcguard_decisions_total')).toEqual([expect.stringMatching(/"MCG_IN_USE".* 6000$/)]);
  const unlogged = { msg: 'a client sends too many reviews; not logging all', address: '10.0.0.9' };
  expect(lines.filter(({ code }) => code === undefined)).toMatchObject([unlogged]);
  vi.advanceTimersByTime(1_000);
  recordMany(100, IN_USE, 'exists');
  // Others do not make the recorder forget the address.
  for (let at = 0; at < 999; at += 1) record(ALLOWED, 'exists', { address: `10.0.1.${at}` });
  recordMany(100, IN_USE, 'exists');
  expect(countLogged('MCG_IN_USE')).toBe(5_020);
  // At most 20,000 of all addresses.
  recordMany(30_000, UNVERIFIED, 'exists', 10);
  expect(countLogged('MCG_UNVERIFIED')).toBe(20_000 - 5_020 - 999 + 80);
});

test('logs and announces an override during a flood of other reviews from the same and other addresses', () => {
  recordMany(50_000, IN_USE, 'exists', 9);
  const before = events.length;
  record(OVERRIDDEN, 'exists', { address: '10.0.0.9' });
  expect(countLogged('MCG_OVERRIDDEN')).toBe(1);
  expect(events.slice(before)).toEqual([OVERRIDE_EVENT]);
  expect(readRecords()).toMatchObject({ deletions: DELETION });
});
