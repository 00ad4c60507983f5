import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { CommandFormatter } from '../../../src/client/output/advice.ts';
import { shell, type ShellCommand, TARGETS, verbatim } from '../../../src/diagnosis/shell-command.ts';

const FLAGS = { context: 'lab smith', kubeconfig: '/home/ann/lab' };
const CLUSTER = "--kubeconfig /home/ann/lab --context 'lab smith'";

test.each<[ShellCommand | undefined, string]>([
  [shell`oc get node oc-1`, `oc ${CLUSTER} get node oc-1`],
  [shell`machineconfig-guard restore ${verbatim('a b')}`, `oc mcguard restore ${CLUSTER} 'a b'`],
  [shell`machineconfig-guard verify`, `oc mcguard verify ${CLUSTER}`],
  [shell`machineconfig-guard explain install/upgrade`, 'oc mcguard explain install/upgrade'],
  [shell`machineconfig-guard certs`, 'oc mcguard certs'],
  [shell`oc login a`, 'oc --kubeconfig /home/ann/lab login a'],
  [shell`openshift-install create ${verbatim('a b')}`, "openshift-install create 'a b'"],
  [
    shell`oc debug node/${'a'} | ${shell`machineconfig-guard restore --from -`}`,
    `oc ${CLUSTER} debug node/a | oc mcguard restore ${CLUSTER} --from -`,
  ],
])('prints the flags of the run in command %#', (command, line) => {
  expect(new CommandFormatter('oc mcguard', FLAGS).toLine(command as ShellCommand)).toBe(line);
});

/** What a user can write, and what a node can write into its annotations. */
const HOSTILE_TEXTS = [
  '',
  ' ',
  'two  spaces',
  ' around ',
  "it's; rm -rf /",
  'say "no"',
  '$(reboot)',
  '`id`',
  '$HOME ~ * ? [a] {a,b}',
  '~root',
  '=ls',
  '#comment',
  'a!b!!',
  'back\\slash\\n',
  '100%s%d',
  'line\nfeed',
  'tab\there',
  'bell\u0007 and \u001B]52;c;eA\u0007',
  '!\u0007\\"\'%s',
  'right\u202Eto left',
  'zero\u200Bwidth',
  'line\u2028separator',
  'M\u00FCnchen \u{1F600}',
  '--accept-content',
  '-o',
  '--confirm=true',
  'a;b|c&d<e>f(g)',
  '{"spec":{"paused":true}}',
];

test.each(['sh', 'bash'])(
  'prints commands that %s reads as the same words, without unprintable characters',
  (program) => {
    const command = shell`echo get ${HOSTILE_TEXTS.map(verbatim)} ${verbatim('name')}=${verbatim("a 'b'")}`;
    const line = new CommandFormatter('machineconfig-guard', {}).toLine(command as ShellCommand);
    expect(line).not.toMatch(/\p{C}|\p{Zl}|\p{Zp}/u);

    const script = `echo() { for word; do printf '%s\\0' "$word"; done; }\n${line}`;
    const words = execFileSync(program, ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1);
    const printable = HOSTILE_TEXTS.map((text) => text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '?'));
    expect(words).toEqual(['get', ...printable, "name=a 'b'"]);
  },
);

test.each(HOSTILE_TEXTS)('prints no command with the name %j', (name) => {
  expect(shell`machineconfig-guard restore ${name} --from -`).toBeUndefined();
  expect(shell`oc delete node ${['worker-0', name]}`).toBeUndefined();
  expect(shell`oc annotate node worker-0 ${verbatim('currentConfig')}=${name}`).toBeUndefined();
  expect(shell`oc adm uncordon ${TARGETS}`?.withTargets(['worker-0', name])).toBeUndefined();
  expect(shell`oc debug node/worker-0 -- chroot /host ${shell`cat ${name}`}`).toBeUndefined();
});
