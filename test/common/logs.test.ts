import { expect, test } from 'vitest';
import { ProblemLog } from '../../src/common/logs.ts';
import { memoryLog } from '../support/log.ts';

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
