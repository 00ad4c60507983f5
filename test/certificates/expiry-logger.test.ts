import { expect, test, vi } from 'vitest';
import { logExpiries, logExpiriesDaily } from '../../src/certificates/expiry-logger.ts';
import type { Expiry } from '../../src/certificates/serving-certificate.ts';
import { memoryLog } from '../support/log.ts';

const DAY_MS = 86_400_000;
const END = new Date('2030-01-01T00:00:00Z');

function logBeforeEnd(daysLeft: number, change: Partial<Expiry> = {}) {
  const { log, messages } = memoryLog();
  const expiry: Expiry = { certificate: 'authority', notAfter: END, isRenewedByGuard: false, ...change };
  logExpiries([expiry], log, new Date(END.getTime() - daysLeft * DAY_MS));
  return messages();
}

test('warns from 30 days before the end on', () => {
  expect([31, 30, 1, 0, -50].map((daysLeft) => logBeforeEnd(daysLeft).length)).toEqual([0, 1, 1, 1, 1]);
});

test('the warning names the certificate, the date and the repair', () => {
  expect(logBeforeEnd(29.5)).toEqual([
    'the authority of the serving certificates expires at 2030-01-01T00:00:00.000Z, in 29 days: ' +
      'rotate it with `machineconfig-guard render --from-cluster --new-authority`',
  ]);
  expect(logBeforeEnd(-1, { certificate: 'serving' })[0]).toMatch(
    / expired at .*, the API server's calls fail: renew it at/,
  );
});

test('does not warn about a certificate that the process renews', () => {
  expect(logBeforeEnd(3, { isRenewedByGuard: true })).toEqual([]);
});

test('warns at the start and ends when the signal aborts', async ({ onTestFinished }) => {
  vi.useFakeTimers({ now: END.getTime() - DAY_MS, toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const { log, lines } = memoryLog();
  const stopping = new AbortController();
  const expiries = (): Expiry[] => [{ certificate: 'serving', notAfter: END, isRenewedByGuard: false }];
  const running = logExpiriesDaily({ expiries }, log, stopping.signal);
  expect(lines).toHaveLength(1);
  stopping.abort();
  await running;
  expect(lines).toHaveLength(1);
});
