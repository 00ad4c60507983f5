import { expect, test } from 'vitest';
import { addContextToAdvice, addContextToCommand } from '../../src/cli/command-context.ts';

test.each([
  ['oc annotate node oc-1', "oc --context 'lab smith' annotate node oc-1"],
  ['machineconfig-guard restore a', "machineconfig-guard --context 'lab smith' restore a"],
])('adds the context to the command %s', (command, expected) => {
  expect(addContextToCommand(command, { context: 'lab smith' })).toBe(expected);
  expect(addContextToCommand(command, {})).toBe(command);
});

test('adds the context to each command of an advice', () => {
  const advice = 'node oc-1 has no pod: oc delete a; then run machineconfig-guard verify';
  const expected =
    'node oc-1 has no pod: oc --context lab delete a; then run machineconfig-guard verify --context lab';
  expect(addContextToAdvice(advice, { context: 'lab' })).toBe(expected);
  expect(addContextToAdvice(advice, {})).toBe(advice);
});
