import { expect, test } from 'vitest';
import {
  computeDeadlineMs,
  CONFIRM_TIMEOUT_MS,
  DEFAULT_SETTINGS,
  isHold,
  LOOK_UP_TIMEOUT_MS,
  MODES,
  parseSettings,
} from '../../src/decision/settings.ts';
import { buildWebhookConfiguration } from '../../src/install/registration.ts';
import { isObjectName, parsePoolName, toConfigName } from '../../src/decision/references.ts';

test.each(MODES)('reads the mode %s and the longest hold', (mode) => {
  const settings = { mode, holdSupersededMs: 2_592_000_000 };
  expect(parseSettings({ spec: { mode, holdSuperseded: '720h' } })).toEqual({ settings, problems: [] });
});

test.each([[undefined], [{}], [{ spec: null }], [{ spec: 'text' }]])(
  'uses Enforce and a hold of 2 h for %j, without a problem',
  (object) => {
    const settings = { mode: 'Enforce', holdSupersededMs: 7_200_000 };
    expect(parseSettings(object)).toEqual({ settings, problems: [] });
    expect(DEFAULT_SETTINGS).toEqual(settings);
  },
);

test.each([[false], ['enforce'], [''], [null], ['a\u0085b']])(
  'uses Enforce for the mode %j, and reports a problem',
  (mode) => {
    const { settings, problems } = parseSettings({ spec: { mode, holdSuperseded: '1h' } });
    expect(settings).toEqual({ mode: 'Enforce', holdSupersededMs: 3_600_000 });
    const value = JSON.stringify(mode).replace('\u0085', ' ');
    expect(problems).toEqual([`spec.mode ${value} is not one of Enforce, Warn, Audit, Disabled; using Enforce`]);
  },
);

test.each([[7], ['-1h'], ['721h'], [null]])(
  'uses the longest hold for holdSuperseded %j, reports a problem, and reads the mode',
  (holdSuperseded) => {
    const { settings, problems } = parseSettings({ spec: { mode: 'Audit', holdSuperseded } });
    expect(settings).toEqual({ mode: 'Audit', holdSupersededMs: 2_592_000_000 });
    const value = JSON.stringify(holdSuperseded);
    expect(problems).toEqual([`spec.holdSuperseded ${value} is not a duration of at most 720h; using 720h`]);
  },
);

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
