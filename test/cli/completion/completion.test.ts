import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { expect, inject, test } from 'vitest';
import { runProgram, usageError } from '../run-program.ts';
import { createTemporaryDirectory } from '../temporary-directory.ts';

/** Without their descriptions. The last one is the directive. */
async function complete(...words: string[]): Promise<string[]> {
  const { exitCode, stdout, stderr } = await runProgram(['__complete', ...words]);
  expect([exitCode, stderr]).toEqual([0, '']);
  return stdout.trimEnd().replaceAll(/\t.*/g, '').split('\n');
}

test.each([
  ['che', 'check :4'],
  ['help che', 'check :4'],
  ['check ', ':4'],
  ['check --mi', '--min-nodes :4'],
  ['--context x check --he', '--help :4'],
  ['--kubeconfig x --v', '--version --v :4'],
  ['check -o j', 'json :4'],
  ['check --bootstrap-dir ', ':0'],
  ['check --bootstrap-dir=', ':0'],
  ['who-uses --kubeconfig /no/such/file ', ':4'],
])('completes %j', async (line, expected) => {
  expect(await complete(...line.split(' '))).toEqual(expected.split(' '));
});

test('completion rejects an unknown shell', async () => {
  expect(await runProgram(['completion', 'tcsh'])).toEqual(usageError('Allowed choices are bash, fish, zsh.'));
});

/** Types a line in a real bash and returns the words that it would insert or list. */
async function completeInBash(line: string): Promise<string[]> {
  const bin = path.join(createTemporaryDirectory(), 'bin');
  mkdirSync(bin);
  symlinkSync(inject('program'), path.join(bin, 'machineconfig-guard'));
  const { stdout: script } = await runProgram(['completion', 'bash']);
  const test = `${script}
COMP_LINE='${line}' COMP_POINT=${line.length} COMP_TYPE=9
_machineconfig_guard machineconfig-guard
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const env = { PATH: `${bin}:${process.env['PATH']}`, HOME: bin };
  return execFileSync('bash', ['-c', test], { env, encoding: 'utf8' }).trim().split('\n');
}

test('bash completes a flag, and leaves the value after an equals sign to its own completion', async () => {
  expect(await completeInBash('machineconfig-guard check --min')).toEqual(['--min-nodes']);
  expect(await completeInBash('machineconfig-guard check --bootstrap-dir=')).toEqual(['']);
});
