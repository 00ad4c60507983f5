import { expect, test } from 'vitest';
import { buildWebhookConfiguration } from '../../src/install/registration.ts';
import { LOOK_UP_TIMEOUT_MS } from '../../src/references/config-index.ts';
import { computeDeadlineMs } from '../../src/review/deadline.ts';
import { CONFIRM_TIMEOUT_MS } from '../../src/review/judge.ts';

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
