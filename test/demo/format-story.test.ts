import { expect, test } from 'vitest';
import { formatConclusion, formatEvent } from '../../src/demo/format-story.ts';
import type { DemoRestore, DemoRun } from '../../src/demo/run-demo.ts';

const PLAIN = { width: 80, hasColors: false };

test('indents the second line of a long message', () => {
  const message = `${'word '.repeat(14)}end`;
  const lines = formatEvent(PLAIN, { t: 366, actor: 'clean-up', message }).trimEnd().split('\n');
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatch(/^T\+6m06s {2}clean-up {2}word/);
  expect(lines[1]).toMatch(/^ {19}(?:word )*end$/);
});

const RUN = { guard: false, outcome: 'deadlock' } as unknown as DemoRun;
/** The conclusion shows only its install. */
const RESTORED = { ...RUN, outcome: 'completed' } as unknown as DemoRestore;

test('says that the end was not expected', () => {
  const text = formatConclusion(PLAIN, {
    runs: [{ ...RUN, guard: true }],
    restored: RESTORED,
    asExpected: false,
  });
  expect(text).toContain('With the guard: deadlock');
  expect(text).toContain('Unexpected result');
});
