import { expect, test } from 'vitest';
import { createNameShortener, formatAge } from '../../../src/client/output/short-forms.ts';

const TERMINAL = { width: 80, hasColors: false, columns: 80 };
const WORKER = 'rendered-worker-25a1be6c1264c64551ae911d23717173';

test.each([
  [WORKER, 'rendered-worker-25a1be6c'],
  [WORKER.replace('rendered', 'render'), 'render-worker-25a1be6c1264c64551ae911d23717173'],
  [WORKER.replace('1264c', '1265c'), WORKER.replace('1264c', '1265c')],
  ['a\u001B[31m\nb', 'a [31m b'],
])('the label of %j is %s', (config, label) => {
  expect(createNameShortener(TERMINAL, [WORKER, config])(config)).toBe(label);
});

test('a label is not the name of another config, and a pipe and -o wide get full names', () => {
  const names = [WORKER, 'rendered-worker-25a1be6c'];
  expect(names.map(createNameShortener(TERMINAL, names))).toEqual(names);
  for (const options of [{ columns: undefined }, { isWide: true }]) {
    expect(createNameShortener({ ...TERMINAL, ...options }, [WORKER])(WORKER)).toBe(WORKER);
  }
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
