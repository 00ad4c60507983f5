import { expect, test } from 'vitest';
import { addFlagsToAdvice, addFlagsToCommand } from '../../src/client/command-flags.ts';

const FLAGS = { context: 'lab smith', kubeconfig: '/home/ann smith/lab' };

test.each([
  [
    'oc annotate node oc-1',
    "oc --kubeconfig '/home/ann smith/lab' --context 'lab smith' annotate node oc-1",
  ],
  [
    'machineconfig-guard restore a',
    "machineconfig-guard --kubeconfig '/home/ann smith/lab' --context 'lab smith' restore a",
  ],
])('adds the kubeconfig and the context to the command %s', (command, expected) => {
  expect(addFlagsToCommand(command, FLAGS)).toBe(expected);
  expect(addFlagsToCommand(command, {})).toBe(command);
});

test('adds the flags to each command of an advice', () => {
  const advice = 'node oc-1 has no pod: oc delete a; then run machineconfig-guard verify.';
  const flags = '--kubeconfig lab.yaml --context lab';
  const expected = `node oc-1 has no pod: oc ${flags} delete a; then run machineconfig-guard verify ${flags}.`;
  expect(addFlagsToAdvice(advice, { context: 'lab', kubeconfig: 'lab.yaml' })).toBe(expected);
  expect(addFlagsToAdvice(advice, {})).toBe(advice);
});
