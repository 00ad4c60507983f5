import { CommanderError } from 'commander';
import { describe, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { CliError, EXIT_CODE } from '../../src/cli/exit.ts';
import { programNameOf, reportError } from '../../src/cli/program.ts';
import { runProgram, usageError } from './run-program.ts';

function report(error: unknown, env: Record<string, string> = {}): { exitCode: number; stderr: string } {
  let stderr = '';
  const exitCode = reportError(error, { stdout: () => {}, stderr: (text) => void (stderr += text), env });
  return { exitCode, stderr };
}

const HINT = ' (this was not expected; run again with MCG_DEBUG=1 to see where it happened)\n';

test.each([
  ['a CliError', new CliError('no cluster.', EXIT_CODE.cluster), 3, 'machineconfig-guard: no cluster.\n'],
  ['a CliError without a message', new CliError('', EXIT_CODE.no), 1, ''],
  ['an Error with two lines', new TypeError('a\n    at b'), 1, `machineconfig-guard: a at b${HINT}`],
  ['a text', 'thrown', 1, `machineconfig-guard: thrown${HINT}`],
  ['an error that commander has printed', new CommanderError(1, 'commander.unknownOption', 'error'), 2, ''],
  ['the end of --version', new CommanderError(0, 'commander.version', '0.1.0'), 0, ''],
])('reportError prints %s in at most one line', (_name, error, exitCode, stderr) => {
  expect(report(error)).toEqual({ exitCode, stderr });
  expect(report(error, { MCG_DEBUG: '0' })).toEqual({ exitCode, stderr });
});

test('reportError adds the stack and the causes with MCG_DEBUG=1', () => {
  const error = new CliError('no.', EXIT_CODE.usage, { cause: new Error('disk on fire') });
  const { exitCode, stderr } = report(error, { MCG_DEBUG: '1' });
  expect(exitCode).toBe(2);
  const stacks = /^machineconfig-guard: no\.\nCliError: no\.\n {4}at [^]*caused by: Error: disk on fire\n {4}at /;
  expect(stderr).toMatch(stacks);
});

test('without a command, prints the help on stderr and exits with 2', async () => {
  const stderr = expect.stringMatching(/^Usage: machineconfig-guard /) as string;
  expect(await runProgram([])).toEqual({ exitCode: 2, stdout: '', stderr });
});

test('with an unknown command, suggests the nearest one', async () => {
  expect(await runProgram(['cert'])).toEqual(usageError("unknown command 'cert' (Did you mean certs?)\n"));
});

describe('as a kubectl plugin', () => {
  test.each([
    ['/usr/local/bin/kubectl-mcguard', 'kubectl mcguard'],
    ['/usr/local/bin/oc-mcguard', 'oc mcguard'],
    ['/opt/machineconfig-guard.cjs', 'machineconfig-guard'],
    ['/kubectl-mcguard/main.ts', 'machineconfig-guard'],
    ['', 'machineconfig-guard'],
  ])('the program file %j has the name %s', (file, name) => {
    expect(programNameOf(file)).toBe(name);
  });

  test.each(['check', 'who-uses', 'certs', 'serve'])(
    'the help of %s has the name that a user types',
    async (command) => {
      const { stdout } = await runProgram([command, '--help'], 'kubectl mcguard');
      expect(stdout).toMatch(new RegExp(`^Usage: kubectl mcguard ${command} `));
      expect(stdout).toMatch(new RegExp(`^Examples?:\n {2}kubectl mcguard ${command}`, 'm'));
      expect(stdout).not.toMatch(/^\s*machineconfig-guard /m);
    },
  );

  test('errors have the name that a user types', async () => {
    const { stderr } = await runProgram(['chek'], 'kubectl mcguard');
    expect(stderr).toBe("kubectl mcguard: unknown command 'chek' (Did you mean check?)\n");
  });

  test('package.json installs the same program under both names', () => {
    const { 'machineconfig-guard': program, 'kubectl-mcguard': plugin } = packageJson.bin;
    expect(plugin).toBe(program);
  });
});
