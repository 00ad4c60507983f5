import { spawnSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { CommanderError } from 'commander';
import { expect, inject, test, vi } from 'vitest';
import { CliError, EXIT_CODE, ReportedFailure } from '../../src/client/exit.ts';
import { getProgramName, reportError } from '../../src/cli/program.ts';
import { advise } from '../../src/client/output/advice.ts';
import { shell } from '../../src/diagnosis/shell-command.ts';
import { startCommand } from './command-process.ts';
import { CLUSTER_COMMAND_LINES, startEmptyCluster } from './inspected-cluster.ts';
import { listCommands, runProgram, usageError } from './run-program.ts';
import { createTemporaryDirectory } from './temporary-directory.ts';
import { useTerminal } from './terminal.ts';

function report(error: unknown, debug = ''): [exitCode: number, stderr: string] {
  vi.stubEnv('MCG_DEBUG', debug);
  let stderr = '';
  const exitCode = reportError(error, { stdout: () => {}, stderr: (text) => void (stderr += text) });
  return [exitCode, stderr];
}

test('reportError prints an error in at most one line, and its stack and causes with MCG_DEBUG=1', () => {
  const hint = ' (unexpected error; run again with MCG_DEBUG=1 for the stack trace)\n';
  const error = new CliError('no.', EXIT_CODE.clusterAccess, { cause: new Error('disk on fire') });
  for (const debug of ['', '0']) expect(report(error, debug)).toEqual([3, 'machineconfig-guard: no.\n']);
  expect(report(new ReportedFailure(EXIT_CODE.failure))).toEqual([1, '']);
  expect(report(new TypeError('a\n    at b'))).toEqual([1, `machineconfig-guard: a at b${hint}`]);
  expect(report('thrown')).toEqual([1, `machineconfig-guard: thrown${hint}`]);
  // Commander has printed it.
  expect(report(new CommanderError(1, 'commander.unknownOption', 'error'))).toEqual([2, '']);
  const stacks = /^machineconfig-guard: no\.\nCliError: no\.\n {4}at [^]*\[cause\]: Error: disk on fire\n +at /;
  expect(report(error, '1')).toEqual([3, expect.stringMatching(stacks)]);
});

test('an error with two ways out, or for a terminal, has each command on its own line', () => {
  const advice = advise('log in with', shell`oc login`);
  const otherwise = advise('only if that fails, see', shell`oc config view`);
  const print = (options: object) => report(new CliError('no access', EXIT_CODE.clusterAccess, options))[1];
  expect(print({ advice })).toBe('machineconfig-guard: no access; log in with: oc login\n');
  const first = 'machineconfig-guard: no access\nNext: log in with:\n  oc login\n';
  const both = `${first}Next: only if that fails, see:\n  oc config view\n`;
  expect(print({ advice: [advice, otherwise] })).toBe(both);
  useTerminal(80, 'stderr');
  expect(print({ advice })).toBe(first);
  const [, text] = report(new CliError('word '.repeat(40), EXIT_CODE.usage));
  expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
});

test('an error about a flag fits into the columns of a terminal', async () => {
  useTerminal(80, 'stderr');
  const { exitCode, stderr } = await runProgram(['verify', '--wait', '--timeout', 'soon']);
  expect([exitCode, stderr.replaceAll('\n', ' ')]).toEqual([2, expect.stringContaining(' is invalid. Must be a ')]);
  expect(stderr.split('\n').filter((line) => line.length > 80)).toEqual([]);
});

test('starts as a user without a name, as in a pod', ({ skip }) => {
  skip(process.getuid?.() !== 0, 'only root can start a program as another user');
  // Only root may read the directory of the bundle.
  const script = readFileSync(inject('program'));
  const { status, stdout } = spawnSync(process.execPath, ['-', '--version'], {
    uid: 1_234_567,
    cwd: '/',
    input: script,
  });
  expect([status, stdout.toString()]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
});

test('as a plugin of kubectl or oc, help and errors have the name that a user types', async () => {
  const files = ['/usr/local/bin/kubectl-mcguard', '/usr/local/bin/oc-mcguard', '/kubectl-mcguard/main.ts'];
  expect(files.map(getProgramName)).toEqual(['kubectl mcguard', 'oc mcguard', 'machineconfig-guard']);
  const { stdout } = await runProgram(['certs', '--help'], 'kubectl mcguard');
  expect(stdout).toMatch(/^Usage: kubectl mcguard certs [^]*\nExamples:\n {2}kubectl mcguard certs/);
  expect(stdout).not.toMatch(/^\s*machineconfig-guard /m);
  const { stderr } = await runProgram(['chek'], 'kubectl mcguard');
  expect(stderr).toBe("kubectl mcguard: unknown command 'chek' (Did you mean check?)\n");
});

test('the help of every command lists flags in alphabetical order, known exit codes and an example', async () => {
  for (const command of await listCommands()) {
    const { stdout } = await runProgram([command, '--help']);
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    for (const group of stdout.split('Cluster flags')) {
      const flags = [...group.matchAll(/^ {2}(?:-\w, )?--(?<flag>[a-z-]+)/gm)].map(
        ({ groups }) => groups?.['flag'] ?? '',
      );
      expect(flags).toEqual(flags.toSorted((a, b) => (a < b ? -1 : 1)));
    }
    if (command !== 'help') expect(stdout).toMatch(/\bExit codes?:\s+\d[^]*\nExamples?:\n {2}\S/);
    const [, text = ''] = /\bExit codes?:([^]*?)\n\n/.exec(stdout) ?? [];
    const codes = [...text.replaceAll('\n', ' ').matchAll(/(?:^|, | {2,})(\d+) /g)].map(([, code]) => Number(code));
    expect(Object.values(EXIT_CODE)).toEqual(expect.arrayContaining(codes));
  }
});

test('the flags in the help fit into a terminal of 60 columns', async () => {
  useTerminal(60);
  for (const args of [[], ['restore'], ['status']]) {
    const { stdout } = await runProgram([...args, '--help']);
    const items = stdout.split('\n').filter((line) => /^ {2}-|^ {20}/.test(line));
    expect(items.length).toBeGreaterThan(5);
    // A long word is not broken.
    expect(items.filter((line) => line.length > 60 && !/^ +\S+$/.test(line))).toEqual([]);
  }
});

test('help prints the help of the program or a command, and fails for an unknown one', async () => {
  const usage = expect.stringMatching(/^Usage: machineconfig-guard [^]*^ {2}check /m) as string;
  expect(await runProgram([])).toEqual({ exitCode: 2, stdout: '', stderr: usage });
  for (const names of ['chek', 'check manifest'])
    expect(await runProgram(['help', ...names.split(' ')])).toEqual(usageError(`unknown command "${names}"; see `));
  expect(await runProgram(['chek'])).toEqual(usageError("unknown command 'chek' (Did you mean check?)\n"));
  for (const [name, command] of [
    ['install', 'render'],
    ['repair', 'render'],
    ['get', 'who-uses'],
    ['manifests', 'check'],
  ])
    expect(await runProgram([`${name}`])).toEqual(
      usageError(`unknown command '${name}'; use ${command}; see --help\n`),
    );
  for (const names of [[], ['check'], ['check', 'manifests'], ['restore']]) {
    const outcome = await runProgram(['help', ...names]);
    const { stdout } = await runProgram([...names, '--help']);
    expect(outcome).toEqual({ exitCode: 0, stdout, stderr: '' });
    expect(stdout).toMatch(`Usage: ${['machineconfig-guard', ...names].join(' ')} `);
    expect(await runProgram(['--context', 'lab', 'help', ...names])).toEqual(outcome);
  }
});

test('a flag for the cluster before a command that reads none has no effect, as in an alias', async () => {
  for (const command of ['explain', 'version', 'help']) {
    const outcome = await runProgram([command]);
    expect(outcome).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await runProgram(['--context', 'lab', command])).toEqual(outcome);
  }
  expect(await runProgram(['version'])).toEqual(await runProgram(['--version']));
});

test('if the disk is full, says so', async ({ skip }) => {
  skip(process.platform !== 'linux', 'only Linux has /dev/full');
  const { exitCode, stderr } = await startCommand(['help'], undefined, '/dev/full').outcome;
  const message = 'machineconfig-guard: cannot write the output: no space left on device\n';
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: message });
});

test('if a file gets only the beginning of the output, says so', () => {
  const file = path.join(createTemporaryDirectory(), 'out');
  // A limit of 1 KiB ends a write as a full disk does: in its middle.
  const limit = 'ulimit -f 1; exec "$0" "$1" explain >"$2"';
  const { status, stderr } = spawnSync('bash', ['-c', limit, process.execPath, inject('program'), file]);
  const message = 'machineconfig-guard: cannot write the output: file too large\n';
  expect({ status, stderr: stderr.toString() }).toEqual({ status: 1, stderr: message });
  expect(statSync(file).size).toBe(1024);
});

test.each(CLUSTER_COMMAND_LINES)('Ctrl-C ends %s with 130 while the API server does not answer', async (...args) => {
  const { cluster, start } = await startEmptyCluster();
  cluster.faults.intercept(() => 'hang');
  const { child, outcome } = start(...args);
  await expect.poll(() => cluster.faults.requests.length).toBeGreaterThan(0);
  child.kill('SIGINT');
  expect((await outcome).exitCode).toBe(130);
});

test.each([
  ['Ctrl-C', 130, [], ''],
  [
    '--request-timeout',
    3,
    ['--request-timeout', '1'],
    'the command sleep of the kubeconfig does not end; run it to see why',
  ],
])('%s ends a command whose kubeconfig runs a command that hangs', async (end, exitCode, flags, message) => {
  const { kubeconfig } = await startEmptyCluster();
  const seconds = String(1e6 + process.pid);
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'sleep', args: [seconds] };
  const stored = JSON.parse(readFileSync(kubeconfig, 'utf8')) as object;
  writeFileSync(kubeconfig, JSON.stringify({ ...stored, users: [{ name: 'in-memory', user: { exec } }] }));
  const { child, outcome } = startCommand(['uninstall', ...flags, '--kubeconfig', kubeconfig]);
  const isRunning = () => spawnSync('sh', ['-c', `pgrep -fx 'sleep ${seconds}'`]).status === 0;
  await expect.poll(isRunning).toBe(true);
  if (end === 'Ctrl-C') child.kill('SIGINT');
  expect(await outcome).toMatchObject({ exitCode, stderr: expect.stringContaining(message) });
  expect(isRunning()).toBe(false);
});
