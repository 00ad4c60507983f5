import { expect, test } from 'vitest';
import { createConfigLabels } from '../../../src/cli/check/config-labels.ts';

const WORKER = 'rendered-worker-25a1be6c1264c64551ae911d23717173';

test.each([
  [false, WORKER, 'rendered-worker-25a1be6c'],
  [true, WORKER, 'worker-25a1be6c'],
  [true, 'render-worker-25a1be6c1264c64551ae911d23717173', 'render-worker-25a1be6c1264c64551ae911d23717173'],
  [false, 'a\u001B[31m\nb', 'a [31m b'],
])('with isShort %j, the label of %j is %s', (isShort, config, label) => {
  expect(createConfigLabels([WORKER, config], isShort)(config)).toBe(label);
});

test.each([
  ['12 digits', WORKER.replace('1264c', '1265c'), ['worker-25a1be6c1264', 'worker-25a1be6c1265']],
  ['more than a source config has', 'worker-25a1be6c', ['worker-25a1be6c1264', 'worker-25a1be6c']],
])('different configs have different labels, if necessary with %s', (_form, similar, labels) => {
  expect([WORKER, similar].map(createConfigLabels([WORKER, similar], true))).toEqual(labels);
});
