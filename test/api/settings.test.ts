import { expect, test } from 'vitest';
import {
  computeDeadlineMs,
  CONFIRM_TIMEOUT_MS,
  DEFAULT_SETTINGS,
  isHold,
  LOOK_UP_TIMEOUT_MS,
  MODES,
  parseSettings,
} from '../../src/api/settings.ts';
import { buildWebhookConfiguration } from '../../src/install/registration.ts';
import { isObjectName, parsePoolName, toConfigName } from '../../src/mco/referrer.ts';

const [HOUR, DEFAULT_HOLD, LONGEST_HOLD] = [3_600_000, 7_200_000, 2_592_000_000];
const modeProblem = (value: string) => `spec.mode ${value} is not one of Enforce, Warn, Audit, Disabled; using Enforce`;
const holdProblem = (value: string) => `spec.holdSuperseded ${value} is not a duration of at most 720h; using 720h`;

test.each<[unknown, string, number, string?]>([
  ...MODES.map((mode) => [{ mode, holdSuperseded: '720h' }, mode, LONGEST_HOLD] as [unknown, string, number]),
  ...[undefined, {}, null, 'text'].map((spec) => [spec, 'Enforce', DEFAULT_HOLD] as [unknown, string, number]),
  [{ mode: false, holdSuperseded: '1h' }, 'Enforce', HOUR, modeProblem('false')],
  [{ mode: 'enforce' }, 'Enforce', DEFAULT_HOLD, modeProblem('"enforce"')],
  [{ mode: null }, 'Enforce', DEFAULT_HOLD, modeProblem('null')],
  [{ mode: 'a\u0085b' }, 'Enforce', DEFAULT_HOLD, modeProblem('"a b"')],
  [{ mode: 'Audit', holdSuperseded: 7 }, 'Audit', LONGEST_HOLD, holdProblem('7')],
  [{ holdSuperseded: '-1h' }, 'Enforce', LONGEST_HOLD, holdProblem('"-1h"')],
  [{ holdSuperseded: '721h' }, 'Enforce', LONGEST_HOLD, holdProblem('"721h"')],
  [{ holdSuperseded: null }, 'Enforce', LONGEST_HOLD, holdProblem('null')],
])(
  'reads the spec %j as the mode %s and a hold of %i ms, with the problem %s',
  (spec, mode, holdSupersededMs, problem) => {
    const problems = problem === undefined ? [] : [problem];
    expect(parseSettings({ spec })).toEqual({ settings: { mode, holdSupersededMs }, problems });
  },
);

test('uses Enforce and a hold of two hours without an object', () => {
  expect(parseSettings(undefined)).toEqual({ settings: DEFAULT_SETTINGS, problems: [] });
  expect(DEFAULT_SETTINGS).toEqual({ mode: 'Enforce', holdSupersededMs: DEFAULT_HOLD });
});

test.each([
  ['76 % of the timeout', '5s', 3_800],
  ['at least 76 % of 1 s', '2ms', 760],
  ['at most 76 % of 30 s', '999h', 22_800],
  ['76 % of 10 s if the timeout is not a duration', 'x', 7_600],
  ['76 % of 10 s if the timeout is zero', '0s', 7_600],
  ['76 % of 10 s if there are two timeouts', ['5s', '1s'], 7_600],
])('the deadline is %s (%j)', (_case, timeout, deadlineMs) => {
  expect(computeDeadlineMs(timeout)).toBe(deadlineMs);
});

test('leaves the live read half a second after the slowest look-up and confirmation', () => {
  const clientConfig = { url: 'https://127.0.0.1/validate', caBundle: '' };
  const { webhooks } = buildWebhookConfiguration({ clientConfig, failurePolicy: 'Fail' });
  const deadlineMs = computeDeadlineMs(`${webhooks[0]?.timeoutSeconds}s`);
  expect(deadlineMs).toBe(3_800);
  expect(deadlineMs - LOOK_UP_TIMEOUT_MS - CONFIRM_TIMEOUT_MS).toBeGreaterThanOrEqual(500);
});

const HASH = 'a'.repeat(32);

test.each([
  [`rendered-worker-${HASH}`, 'worker'],
  [`rendered-gpu-large-${HASH}`, 'gpu-large'],
  [`my-rendered-worker-${HASH}`, undefined],
  [`rendered-worker-${HASH}-copy`, undefined],
  [`rendered-${HASH}`, undefined],
])('the pool in %s is %s', (name, pool) => {
  expect(parsePoolName(toConfigName(name))).toBe(pool);
});

test('an object can have the name of an RFC 1123 subdomain, and no other', () => {
  const names = ['a', '0', 'a-b.c9', 'x'.repeat(253)];
  const others = ['x'.repeat(254), '', '-a', 'a-', 'a\n', 'A', 'a_b', 'a/b'];
  expect([...names, ...others].filter(isObjectName)).toEqual(names);
});

test('a hold is a duration of at most 30 days in whole units', () => {
  const holds = ['2h', '1h30m', '720h', '2592000s', '100ms'];
  const others = ['720h1ms', '1000000000s', '1.5h', 'h', '-1h', '1h ', '1us', '1h1us', ''];
  expect([...holds, ...others].filter(isHold)).toEqual(holds);
});
