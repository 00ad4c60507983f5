import { expect, test } from 'vitest';
import { createConfigLabels, LABEL_FORMS } from '../../../src/cli/check/config-labels.ts';

const WORKER = 'rendered-worker-25a1be6c1264c64551ae911d23717173';

test('a rendered config is whole, has a short hash, or also lacks its prefix', () => {
  expect(LABEL_FORMS.map((form) => createConfigLabels([WORKER], form)(WORKER))).toEqual([
    WORKER,
    'rendered-worker-25a1be6c',
    'worker-25a1be6c',
  ]);
});

test('any other name stays whole, but printable', () => {
  const typo = WORKER.replace('rendered', 'render');
  expect(createConfigLabels([WORKER, typo], 'shortest')(typo)).toBe(typo);
  expect(createConfigLabels(['99-worker-ssh'], 'short')('99-worker-ssh')).toBe('99-worker-ssh');
  expect(createConfigLabels(['a\u001B[31m\nb'], 'whole')('a\u001B[31m\nb')).toBe('a [31m b');
});

test.each([
  ['12 digits', WORKER.replace('1264c', '1265c'), ['worker-25a1be6c1264', 'worker-25a1be6c1265']],
  [
    '32 digits',
    WORKER.replace('ae911', 'ae912'),
    [WORKER, WORKER.replace('ae911', 'ae912')].map((name) => name.slice(9)),
  ],
])('different configs have different labels, if necessary with %s', (_digits, similar, labels) => {
  expect([WORKER, similar].map(createConfigLabels([WORKER, similar], 'shortest'))).toEqual(labels);
});
