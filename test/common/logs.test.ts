import { expect, test, vi } from 'vitest';
import { ProblemLog, RateLimiter } from '../../src/common/logs.ts';
import { memoryLog } from '../support/log.ts';
import { fakeUntilEnd } from '../support/until-end.ts';

test.each([
  ['solved', ['a', 'b', 'solved', 'b']],
  [undefined, ['a', 'b', 'b']],
])('logs a problem again only if it changes or was solved, with the text %j for that', (solvedText, logged) => {
  const { log, lines, messages } = memoryLog();
  const problem = new ProblemLog(log, solvedText);
  problem.clear();
  for (const text of ['a', 'a', 'b', 'b']) problem.warn(text, { reason: 'x' });
  problem.clear();
  problem.clear();
  problem.warn('b');
  expect(messages()).toEqual(logged);
  expect(lines[0]).toMatchObject({ level: 40, reason: 'x' });
});

test('allows each key a burst at once and then one call per interval, however long the pause', () => {
  fakeUntilEnd('performance');
  const limiter = new RateLimiter(3, 100);
  const countAllowed = (key?: string) =>
    Array.from({ length: 10 }, () => limiter.tryAcquire(key)).filter(Boolean).length;
  expect(countAllowed()).toBe(3);
  expect(countAllowed('10.0.0.1')).toBe(3);
  vi.advanceTimersByTime(50);
  expect(countAllowed()).toBe(0);
  vi.advanceTimersByTime(50);
  expect(countAllowed()).toBe(1);
  vi.advanceTimersByTime(60_000);
  expect([countAllowed(), countAllowed('10.0.0.1')]).toEqual([3, 3]);
});
