import { expect, test } from 'vitest';
import {
  createHostShortener,
  createNameShortener,
  createNarrowNameShortener,
} from '../../src/cli/name-shortener.ts';

const WORKER = 'rendered-worker-25a1be6c1264c64551ae911d23717173';

test.each([
  [WORKER, 'rendered-worker-25a1be6c'],
  [WORKER.replace('rendered', 'render'), 'render-worker-25a1be6c1264c64551ae911d23717173'],
  [WORKER.replace('1264c', '1265c'), 'rendered-worker-25a1be6c1265'],
  ['a\u001B[31m\nb', 'a [31m b'],
])('the label of %j is %s', (config, label) => {
  expect(createNameShortener([WORKER, config])(config)).toBe(label);
});

test('a label is not the name of another config', () => {
  const names = [WORKER, 'rendered-worker-25a1be6c'];
  expect(names.map(createNameShortener(names))).toEqual([
    'rendered-worker-25a1be6c1264',
    'rendered-worker-25a1be6c',
  ]);
});

test.each([
  [[WORKER], ['worker-25a1be6c']],
  // Without its prefix, the second name would look like the first one.
  [
    [WORKER, WORKER.replace('rendered-', '')],
    ['rendered-worker-25a1be6c', 'worker-25a1be6c1264c64551ae911d23717173'],
  ],
  [
    [WORKER, '99-worker-ssh'],
    ['rendered-worker-25a1be6c', '99-worker-ssh'],
  ],
])('in a narrow terminal, the labels of %j are %j', (names, labels) => {
  expect(names.map(createNarrowNameShortener(names))).toEqual(labels);
});

test.each([
  [
    ['ip-10-0-1-2.ec2.internal', 'ip-10-0-1-3.ec2.internal'],
    ['ip-10-0-1-2', 'ip-10-0-1-3'],
  ],
  [
    ['a.east', 'a.west'],
    ['a.east', 'a.west'],
  ],
  [['10.0.1.2'], ['10.0.1.2']],
])('the labels of the nodes %j are %j', (nodes, labels) => {
  expect(nodes.map(createHostShortener(nodes))).toEqual(labels);
});
