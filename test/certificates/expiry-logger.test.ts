import { expect, test } from 'vitest';
import { ExpiryLogger } from '../../src/certificates/expiry-logger.ts';
import type { Expiry } from '../../src/certificates/serving-certificate.ts';
import { memoryLog } from '../support/log.ts';

const DAY_MS = 86_400_000;
const END = new Date('2030-01-01T00:00:00Z');

/** Checks twice on each of these days before the end, and returns the new messages of each day. */
function checkOn(days: readonly number[], change: Partial<Expiry> = {}): string[][] {
  const { log, lines } = memoryLog();
  const expiry: Expiry = { certificate: 'authority', notAfter: END, isRenewedHere: false, ...change };
  let now = END;
  const logger = new ExpiryLogger({ certificate: { expiries: () => [expiry] }, log, now: () => now });
  return days.map((daysLeft) => {
    now = new Date(END.getTime() - daysLeft * DAY_MS);
    const before = lines.length;
    logger.check();
    logger.check();
    return lines.slice(before).map(({ msg }) => String(msg));
  });
}

test.each([
  ['once at 30 days, at 7 days and at the end', [31, 30, 29, 8, 7, 6, 1, 0, -50], [0, 1, 0, 0, 1, 0, 0, 1, 0]],
  ['once if it starts late', [3, 2], [1, 0]],
])('warns %s', (_case, days, counts) => {
  expect(checkOn(days).map((messages) => messages.length)).toEqual(counts);
});

test('the warning names the certificate, the date and the repair', () => {
  expect(checkOn([29.5])).toEqual([
    [
      'the authority of the serving certificates expires at 2030-01-01T00:00:00.000Z, 29 days are left: ' +
        'exchange it with `machineconfig-guard certs rotate`',
    ],
  ]);
  expect(checkOn([-1], { certificate: 'serving' })).toEqual([
    [
      'the serving certificate expired at 2030-01-01T00:00:00.000Z, calls fail: ' +
        'whoever writes its files has to renew it',
    ],
  ]);
});

test('does not warn about a certificate that the process renews', () => {
  expect(checkOn([3, 0], { isRenewedHere: true })).toEqual([[], []]);
});

test('warns again about a renewed certificate', () => {
  const { log, lines } = memoryLog();
  let notAfter = END;
  const expiries = (): Expiry[] => [{ certificate: 'serving', notAfter, isRenewedHere: false }];
  const logger = new ExpiryLogger({ certificate: { expiries }, log, now: () => new Date(notAfter.getTime() - DAY_MS) });
  logger.check();
  notAfter = new Date(END.getTime() + 90 * DAY_MS);
  logger.check();
  expect(lines).toHaveLength(2);
});
