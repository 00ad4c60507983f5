import { CommanderError } from 'commander';
import { expect, test } from 'vitest';
import { CliError, EXIT_CODE } from '../../src/cli/exit.ts';
import { reportError } from '../../src/cli/program.ts';
import { runProgram } from './run-program.ts';

function reported(error: unknown, env: Record<string, string> = {}): { exitCode: number; stderr: string } {
  let stderr = '';
  const exitCode = reportError(error, { stdout: () => {}, stderr: (text) => void (stderr += text), env });
  return { exitCode, stderr };
}

test('an error made for the user is printed as it is, with its exit code', () => {
  expect(reported(new CliError('the cluster does not answer.', EXIT_CODE.cluster))).toEqual({
    exitCode: 3,
    stderr: 'machineconfig-guard: the cluster does not answer.\n',
  });
});

test('an answer that is only "no" prints nothing', () => {
  expect(reported(new CliError('', EXIT_CODE.no))).toEqual({ exitCode: 1, stderr: '' });
});

test('any other error is one line, without its stack, and says how to see more', () => {
  const error = new TypeError('x is not a function\n    at y');
  expect(reported(error)).toEqual({
    exitCode: 1,
    stderr:
      'machineconfig-guard: x is not a function at y (this was not expected; run again with MCG_DEBUG=1 to see where it happened)\n',
  });
  expect(reported('thrown as text').stderr).toMatch(/^machineconfig-guard: thrown as text \(/);
});

test('MCG_DEBUG shows the stack and the causes', () => {
  const error = new CliError('no.', EXIT_CODE.usage, { cause: new Error('disk on fire') });
  const { exitCode, stderr } = reported(error, { MCG_DEBUG: '1' });
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(
    /^machineconfig-guard: no\.\nCliError: no\.\n {4}at [^]*caused by: Error: disk on fire\n {4}at /,
  );
  expect(reported(error, { MCG_DEBUG: '0' }).stderr).toBe('machineconfig-guard: no.\n');
});

test('what commander has already said is not said twice', () => {
  expect(reported(new CommanderError(1, 'commander.unknownOption', 'error: …'))).toEqual({ exitCode: 2, stderr: '' });
  expect(reported(new CommanderError(0, 'commander.version', '0.1.0'))).toEqual({ exitCode: 0, stderr: '' });
});

test('no command: the help, on stderr, as wrong usage', async () => {
  const { exitCode, stdout, stderr } = await runProgram([]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toMatch(/^Usage: machineconfig-guard /);
});

test('an unknown command names the one that was meant', async () => {
  expect(await runProgram(['cert'])).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: "machineconfig-guard: unknown command 'cert' (Did you mean certs?)\n",
  });
});
