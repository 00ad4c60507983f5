import { expect, test } from 'vitest';
import { CommandFormatter, PIPE, ShellCommand, type Word } from '../../../src/client/output/advice.ts';

const FLAGS = { context: 'lab smith', kubeconfig: '/home/ann/lab' };
const CLUSTER = "--kubeconfig /home/ann/lab --context 'lab smith'";

test.each<[readonly Word[], string]>([
  [['oc', 'get', 'node', 'oc-1'], `oc ${CLUSTER} get node oc-1`],
  [['machineconfig-guard', 'restore', 'a b'], `oc mcguard restore ${CLUSTER} 'a b'`],
  [['machineconfig-guard', 'verify'], `oc mcguard verify ${CLUSTER}`],
  [['machineconfig-guard', 'explain', 'install/upgrade'], 'oc mcguard explain install/upgrade'],
  [['oc', 'login', 'a'], 'oc --kubeconfig /home/ann/lab login a'],
  [['openshift-install', 'create', 'a b'], "openshift-install create 'a b'"],
  [
    ['oc', 'debug', 'node/a', PIPE, 'machineconfig-guard', 'restore', '--from', '-'],
    `oc ${CLUSTER} debug node/a | oc mcguard restore ${CLUSTER} --from -`,
  ],
])('formats the words %j with the flags of the run', (words, line) => {
  expect(new CommandFormatter('oc mcguard', FLAGS).toLine(new ShellCommand([words]))).toBe(line);
});

test('quotes every word for a shell', () => {
  const words = ['oc', 'annotate', "it's; rm -rf /", '$(reboot)', '`id`', '\u001B]52;c;eA\u0007', 'a\nb', ''];
  expect(new CommandFormatter('machineconfig-guard', {}).toLine(new ShellCommand([words]))).toBe(
    String.raw`oc annotate 'it'\''s; rm -rf /' '$(reboot)' ` + "'`id`' ']52;c;eA' 'a b' ''",
  );
});

test('prints one line if it fits, else a line for each part', () => {
  const command = new ShellCommand([
    ['oc', 'annotate', 'node', 'worker-0'],
    ['a=b', 'c d'],
  ]);
  const commands = new CommandFormatter('machineconfig-guard', {});
  expect(commands.toLines(command, 80)).toEqual(["oc annotate node worker-0 a=b 'c d'"]);
  expect(commands.toLines(command, 20)).toEqual(['oc annotate node worker-0 \\', "    a=b 'c d'"]);
});
