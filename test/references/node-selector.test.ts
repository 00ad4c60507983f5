import { expect, test } from 'vitest';
import { matchesNodeSelector } from '../../src/references/node-pool.ts';

const WORKER = { 'node-role.kubernetes.io/worker': '', zone: 'a' };

const toExpression = (key: string, operator: string, ...values: string[]) => ({
  matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }],
});

test.each([
  [{ matchLabels: { 'node-role.kubernetes.io/worker': '' } }, true],
  [{ matchLabels: { 'node-role.kubernetes.io/worker': '', zone: 'b' } }, false],
  [{ matchLabels: { zone: 'a' }, ...toExpression('rack', 'Exists') }, false],
  [toExpression('zone', 'In', 'a', 'b'), true],
  [toExpression('zone', 'In', 'b'), false],
  [toExpression('zone', 'NotIn', 'b'), true],
  [toExpression('zone', 'NotIn', 'a'), false],
  [toExpression('rack', 'NotIn', 'a'), true],
  [toExpression('zone', 'Exists'), true],
  [toExpression('rack', 'DoesNotExist'), true],
  [toExpression('zone', 'DoesNotExist'), false],
])('whether %j matches a worker: %s', (selector, matches) => {
  expect(matchesNodeSelector(selector, WORKER)).toBe(matches);
});

test.each([[undefined], [null], [{}], [{ matchLabels: {} }], [{ matchExpressions: [{ operator: 'Exists' }] }], [7]])(
  'the empty or malformed selector %j matches no node',
  (selector) => {
    expect(matchesNodeSelector(selector, WORKER)).toBe(false);
  },
);
