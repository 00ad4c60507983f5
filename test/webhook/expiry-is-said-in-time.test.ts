import { expect, test } from 'vitest';
import { ExpiryLogger } from '../../src/certificates/expiry-logger.ts';
import type { Expiry } from '../../src/certificates/serving-certificate.ts';
import { memoryLog } from '../support/log.ts';

const DAY_MS = 86_400_000;
const END = new Date('2030-01-01T00:00:00Z');

/** What is said on each of these days before the end. */
function saidOn(
  days: readonly number[],
  expiry: Expiry = { certificate: 'authority', notAfter: END, isRenewedHere: false },
): string[][] {
  const { log, lines } = memoryLog();
  let now = END;
  const watch = new ExpiryLogger({ certificate: { expiries: () => [expiry] }, log, now: () => now });
  return days.map((left) => {
    now = new Date(END.getTime() - left * DAY_MS);
    const before = lines.length;
    watch.check();
    watch.check();
    return lines.slice(before).map(({ msg }) => String(msg));
  });
}

test('once at 30 days, once at 7, once at the end, and not in between', () => {
  const counts = saidOn([400, 31, 30, 29, 8, 7, 6, 1, 0, -1, -50]).map((lines) => lines.length);
  expect(counts).toEqual([0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0]);
});

test('begun late, only what matters now is said', () => {
  expect(saidOn([3, 2]).map((lines) => lines.length)).toEqual([1, 0]);
});

test('it says what, when, how long, and what to do', () => {
  expect(saidOn([29.5])[0]).toEqual([
    'the authority of the serving certificates expires at 2030-01-01T00:00:00.000Z, 29 days are left: exchange it with `machineconfig-guard certs rotate`',
  ]);
  expect(saidOn([-1], { certificate: 'serving', notAfter: END, isRenewedHere: false })[0]).toEqual([
    'the serving certificate expired at 2030-01-01T00:00:00.000Z, calls fail: whoever writes its files has to renew it',
  ]);
});

test('what this process renews by itself is not worth a word', () => {
  expect(saidOn([3, 0], { certificate: 'serving', notAfter: END, isRenewedHere: true }).flat()).toEqual([]);
});

test('a renewed certificate begins anew', () => {
  const { log, lines } = memoryLog();
  let notAfter = END;
  let now = new Date(END.getTime() - 5 * DAY_MS);
  const certificate = { expiries: (): Expiry[] => [{ certificate: 'serving', notAfter, isRenewedHere: false }] };
  const watch = new ExpiryLogger({ certificate, log, now: () => now });
  watch.check();
  notAfter = new Date(END.getTime() + 90 * DAY_MS);
  watch.check();
  expect(lines).toHaveLength(1);
  now = new Date(notAfter.getTime() - 20 * DAY_MS);
  watch.check();
  expect(lines).toHaveLength(2);
});
