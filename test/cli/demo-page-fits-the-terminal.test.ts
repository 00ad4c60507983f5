import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { formatConclusion, formatEvent, formatStoryTime, type Run } from '../../src/demo/format-story.ts';
import { createTextFormat as createPage, wrapText } from '../../src/cli/text-format.ts';

const PLAIN = { width: 80, hasColors: false };
const PAINTED = { width: 80, hasColors: true };

test('as wide as the terminal, between 80 and 100; 80 where there is none', () => {
  const widths = [undefined, 40, 90, 200].map((columns) => {
    return createPage(columns === undefined ? {} : { isTTY: true, columns }, {}).width;
  });
  expect(widths).toEqual([80, 80, 90, 100]);
});

test.each([
  [{ isTTY: true }, {}, true],
  [{ isTTY: true }, { NO_COLOR: '1' }, false],
  [{ isTTY: true }, { NO_COLOR: '' }, true],
  [{ isTTY: true }, { TERM: 'dumb' }, false],
  [{ isTTY: true }, { FORCE_COLOR: '0' }, false],
  [{}, {}, false],
  [{}, { FORCE_COLOR: '1' }, true],
  [{}, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
])('stream %j, environment %j: colours %s', (stream, env, colours) => {
  expect(createPage(stream, env).hasColors).toBe(colours);
});

test('a text breaks at spaces, and a link never', () => {
  const link = 'https://example.io/a-very-long-link';
  expect(wrapText(`see the page ${link} now`, 12)).toEqual(['see the page', link, 'now']);
});

test('moments are written as in the report of the incident', () => {
  expect([0, 61, 366, 606].map(formatStoryTime)).toEqual(['T+0m00s', 'T+1m01s', 'T+6m06s', 'T+10m06s']);
});

test('a long message goes on under its beginning', () => {
  const message = `${'word '.repeat(14)}end`;
  const lines = formatEvent(PLAIN, { t: 366, actor: 'clean-up', message }).trimEnd().split('\n');
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatch(/^T\+6m06s {2}clean-up {2}word/);
  expect(lines[1]).toMatch(/^ {19}(?:word )*end$/);
});

const ENDED: Run = {
  guard: false,
  outcome: 'deadlock',
  events: [],
  nodes: [{ name: 'control2', current: 'gone', desired: 'there', state: 'Degraded', reason: '', ready: true }],
  pool: { machineCount: 1, updatedMachineCount: 0, degradedMachineCount: 1, configuration: '' },
  configs: ['there'],
};

test('the end table marks what no longer exists', () => {
  const text = formatConclusion(PLAIN, [ENDED], true);
  expect(text).toContain(
    '  NODE      CURRENT  DESIRED  STATE\n  control2  gone*    there    Degraded\n  * no longer exists',
  );
});

test('an end that was not expected says so', () => {
  const text = formatConclusion(PLAIN, [{ ...ENDED, guard: true }], false);
  expect(text).toContain('With the guard: dead-lock');
  expect(text).toContain('This is not how it should have ended');
});

test('the colours of a line are all it differs by', () => {
  const event = { t: 480, actor: 'daemon', message: 'control2 is Degraded' } as const;
  const painted = formatEvent(PAINTED, event);
  expect(painted).toContain('\u001B[31mcontrol2 is Degraded\u001B[39m');
  expect(stripVTControlCharacters(painted)).toBe(formatEvent(PLAIN, event));
});
