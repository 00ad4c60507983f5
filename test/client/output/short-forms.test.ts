import { expect, test } from 'vitest';
import { formatAge, formatShortName } from '../../../src/client/output/short-forms.ts';

const TERMINAL = { width: 80, hasColors: false, columns: 80 };
const WORKER = 'rendered-worker-25a1be6c1264c64551ae911d23717173';

test.each([
  ['a terminal', TERMINAL, WORKER, 'worker-25a1be6c'],
  ['a pipe', { ...TERMINAL, columns: undefined }, WORKER, WORKER],
  ['-o wide', { ...TERMINAL, isWide: true }, WORKER, WORKER],
  ['another kind of name', TERMINAL, WORKER.replace('rendered', 'render'), WORKER.replace('rendered', 'render')],
  ['a hostile name', TERMINAL, 'a\u001B[31m\nb', 'a [31m b'],
])('for %s, a config has a short name or its own', (_title, format, config, label) => {
  expect(formatShortName(format, config)).toBe(label);
});

test.each([
  [-1, '0s'],
  [119_000, '119s'],
  [7_199_000, '119m'],
  [7_200_000, '2h'],
  [172_800_000, '2d'],
  [Date.parse('never'), '<unknown>'],
])('formats the age of %i ms as %s', (ms, text) => {
  expect(formatAge(ms)).toBe(text);
});
