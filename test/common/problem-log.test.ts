import { expect, test } from 'vitest';
import { ProblemLog } from '../../src/common/problem-log.ts';
import { memoryLog } from '../support/log.ts';

test('logs a problem again only if it changes or was solved', () => {
  const { log, lines } = memoryLog();
  const problem = new ProblemLog(log, 'solved');
  problem.clear();
  for (const text of ['a', 'a', 'b', 'b']) problem.warn(text, { reason: 'x' });
  problem.clear();
  problem.clear();
  problem.warn('b');
  expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
    [40, 'a'],
    [40, 'b'],
    [30, 'solved'],
    [40, 'b'],
  ]);
  expect(lines[0]).toMatchObject({ reason: 'x' });
});

test('logs no solution if there is no text for it', () => {
  const { log, messages } = memoryLog();
  const problem = new ProblemLog(log);
  problem.warn('a');
  problem.clear();
  problem.warn('a');
  expect(messages()).toEqual(['a', 'a']);
});
