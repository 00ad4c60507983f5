import { expect, test } from 'vitest';
import { matchesNodeSelector } from '../../src/references/node-selector.ts';

const WORKER = { 'node-role.kubernetes.io/worker': '', zone: 'a' };

test.each([
  [{ matchLabels: { 'node-role.kubernetes.io/worker': '' } }, true],
  [{ matchLabels: { 'node-role.kubernetes.io/worker': '', zone: 'b' } }, false],
  [{ matchLabels: { zone: 'a' }, matchExpressions: [{ key: 'rack', operator: 'Exists' }] }, false],
])('whether %j matches a worker: %s', (selector, matches) => {
  expect(matchesNodeSelector(selector, WORKER)).toBe(matches);
});

test.each([
  ['zone', 'In', ['a', 'b'], true],
  ['zone', 'In', ['b'], false],
  ['zone', 'NotIn', ['b'], true],
  ['zone', 'NotIn', ['a'], false],
  ['rack', 'NotIn', ['a'], true],
  ['zone', 'Exists', undefined, true],
  ['rack', 'DoesNotExist', undefined, true],
  ['zone', 'DoesNotExist', undefined, false],
])('whether the expression %s %s %j matches a worker: %s', (key, operator, values, matches) => {
  const selector = { matchExpressions: [{ key, operator, values }] };
  expect(matchesNodeSelector(selector, WORKER)).toBe(matches);
});

test.each([[undefined], [null], [{}], [{ matchLabels: {} }], [{ matchExpressions: [{ operator: 'Exists' }] }], [7]])(
  'the empty or malformed selector %j matches no node',
  (selector) => {
    expect(matchesNodeSelector(selector, WORKER)).toBe(false);
  },
);
