import { expect, test } from 'vitest';
import { matchesNodeSelector } from '../../src/references/node-selector.ts';

const WORKER = { 'node-role.kubernetes.io/worker': '', zone: 'a' };

test.each([
  [{ matchLabels: { 'node-role.kubernetes.io/worker': '' } }, true],
  [{ matchLabels: { 'node-role.kubernetes.io/worker': '', zone: 'b' } }, false],
  [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a', 'b'] }] }, true],
  [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['b'] }] }, false],
  [{ matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['b'] }] }, true],
  [{ matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['a'] }] }, false],
  [{ matchExpressions: [{ key: 'rack', operator: 'NotIn', values: ['a'] }] }, true],
  [{ matchExpressions: [{ key: 'zone', operator: 'Exists' }] }, true],
  [{ matchExpressions: [{ key: 'rack', operator: 'Exists' }] }, false],
  [{ matchExpressions: [{ key: 'rack', operator: 'DoesNotExist' }] }, true],
  [{ matchExpressions: [{ key: 'zone', operator: 'DoesNotExist' }] }, false],
  [{ matchLabels: { zone: 'a' }, matchExpressions: [{ key: 'rack', operator: 'Exists' }] }, false],
])('whether %j matches a worker: %s', (selector, matches) => {
  expect(matchesNodeSelector(selector, WORKER)).toBe(matches);
});

test.each([
  [undefined],
  [null],
  [{}],
  [{ matchLabels: {} }],
  [{ matchExpressions: [{ operator: 'Exists' }] }],
  [7],
])('the empty or malformed selector %j matches no node', (selector) => {
  expect(matchesNodeSelector(selector, WORKER)).toBe(false);
});
