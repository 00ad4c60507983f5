import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ProgramError, runProgram } from '../../../src/rendered-config/operator/run-program.ts';
import { createTemporaryDirectory } from '../../cli/temporary-directory.ts';

const TIMEOUT_MS = 60_000;

async function runShell(script: string, timeoutMs = TIMEOUT_MS, signal = new AbortController().signal) {
  return await runProgram('sh', ['-c', script], { env: { MCG_TEST: 'a' }, timeoutMs, signal });
}

test('returns the exit code, and what the program prints on both streams', async () => {
  expect(await runShell('echo "$MCG_TEST"; exit 3')).toEqual({ exitCode: 3, output: 'a\n' });
  expect(await runShell(String.raw`printf '\033[31mb\033[0m' >&2; cat`)).toEqual({ exitCode: 0, output: 'b' });
  expect(await runShell('kill -9 $$')).toEqual({ exitCode: null, output: '' });
  const message = 'cannot run sh: it has printed more than 16777216 bytes';
  await expect(runShell('yes')).rejects.toThrow(new ProgramError(message));
});

// `sleep` outlives its shell, and keeps the streams open.
test('ends the program after the timeout, and if it is aborted', async () => {
  const file = path.join(createTemporaryDirectory(), 'file');
  const script = `trap '' TERM; sleep 3; touch ${file}`;
  await expect(runShell(script, 500)).rejects.toThrow(new ProgramError('sh has not ended after 0.5 s'));
  expect(existsSync(file)).toBe(false);
  await expect(runShell('sleep 3', TIMEOUT_MS, AbortSignal.timeout(50))).rejects.toThrow('aborted due to timeout');
  await expect(runShell('true', TIMEOUT_MS, AbortSignal.abort())).rejects.toThrow('aborted');
});

test.each([
  ['/none/a', 'cannot run /none/a: it does not exist'],
  ['/etc/passwd', 'cannot run /etc/passwd: it is not executable'],
])('says why it cannot run %s', async (program, message) => {
  const options = { timeoutMs: TIMEOUT_MS, signal: new AbortController().signal };
  await expect(runProgram(program, [], options)).rejects.toThrow(new ProgramError(message));
});
