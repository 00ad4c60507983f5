import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { expect, inject, test } from 'vitest';
import { annotate, createConfig, GONE, NEW, OLD, startHealthyCluster } from '../inspected-cluster.ts';
import { runProgram, usageError } from '../run-program.ts';
import { createTemporaryDirectory } from '../temporary-directory.ts';

/** Without their descriptions. The last one is the directive. */
async function complete(...words: string[]): Promise<string[]> {
  const { exitCode, stdout, stderr } = await runProgram(['__complete', ...words]);
  expect([exitCode, stderr]).toEqual([0, '']);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/\t.*/, ''));
}

test('describes each candidate', async () => {
  const { stdout } = await runProgram(['__complete', 'wh']);
  expect(stdout).toMatch(/^who-uses\tShow the nodes, [^\n]+\n:4\n$/);
});

test.each([
  [['che'], ['check', ':4']],
  [
    ['certs', ''],
    ['rotate', ':4'],
  ],
  [
    ['help', 'certs', ''],
    ['rotate', ':4'],
  ],
  [
    ['check', '--mi'],
    ['--min-nodes', ':4'],
  ],
  [
    ['--context', 'x', 'check', '--he'],
    ['--help', ':4'],
  ],
  [
    ['--kubeconfig', 'check', '--v'],
    ['--version', '--v', ':4'],
  ],
  [
    ['check', '-o', 'j'],
    ['json', ':4'],
  ],
  [
    ['check', '--output=w'],
    ['--output=wide', ':4'],
  ],
  [['check', '--bootstrap-dir', ''], [':0']],
  [['check', '--min-nodes', ''], [':4']],
  [
    ['completion', 'z'],
    ['zsh', ':4'],
  ],
  [['completion', 'zsh', ''], [':4']],
  [
    ['explain', 'MCG_IN'],
    ['MCG_IN_USE', ':4'],
  ],
  [['nonsense', '--flag', ''], [':4']],
  [['who-uses', '--kubeconfig', '/no/such/file', ''], [':4']],
])('completes %j', async (words, expected) => {
  expect(await complete(...words)).toEqual(expected);
});

test('completes the names of the cluster and its kubeconfig', async () => {
  const { kubeconfig, cluster } = await startHealthyCluster();
  createConfig(cluster, '99-worker-ssh');
  annotate(cluster, 'worker-0', { desiredConfig: GONE });
  const flag = ['--kubeconfig', kubeconfig];
  expect((await complete(...flag, 'who-uses', '')).toSorted()).toEqual([':4', OLD, NEW]);
  expect(await complete('who-uses', ...flag, OLD, 'worker-')).toEqual([
    NEW.replace('rendered-', ''),
    ':4',
  ]);
  expect(await complete('restore', ...flag, '')).toEqual([GONE, ':4']);
  expect(await complete('check', ...flag, '--role', '')).toEqual(['worker', ':4']);
  expect(await complete('check', ...flag, '--context', '')).toEqual(['in-memory', ':4']);
});

test('completes no name that a shell would run', async () => {
  const { kubeconfig, cluster } = await startHealthyCluster();
  annotate(cluster, 'worker-0', { currentConfig: 'rendered-worker-$(reboot)', desiredConfig: GONE });
  expect(await complete('restore', '--kubeconfig', kubeconfig, 'rendered-')).toEqual([GONE, ':4']);
});

test('gives up after two seconds if the API server does not answer', async () => {
  const { kubeconfig, cluster } = await startHealthyCluster();
  cluster.faults.intercept(() => 'hang');
  const startedAt = performance.now();
  expect(await complete('who-uses', '--kubeconfig', kubeconfig, '')).toEqual([':4']);
  expect(performance.now() - startedAt).toBeLessThan(3_500);
});

test('completion rejects an unknown shell', async () => {
  expect(await runProgram(['completion', 'tcsh'])).toEqual(
    usageError('Allowed choices are bash, fish, zsh.'),
  );
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

test('bash replaces only the part of a word after an equals sign', async () => {
  expect(await completeInBash('machineconfig-guard check --output=j')).toEqual(['json']);
});
