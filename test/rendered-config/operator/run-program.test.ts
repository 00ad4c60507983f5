import { existsSync } from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { NEVER_ABORTED } from '../../../src/common/wait.ts';
import { ProgramError, runProgram } from '../../../src/rendered-config/operator/run-program.ts';
import { createTemporaryDirectory } from '../../cli/temporary-directory.ts';
import { fakeUntilEnd } from '../../support/until-end.ts';

async function runShell(script: string, signal = NEVER_ABORTED) {
  return await runProgram('sh', ['-c', script], { env: { MCG_TEST: 'a' }, signal });
}

test('returns the exit code, and what the program prints on both streams', async () => {
  expect(await runShell('echo "$MCG_TEST"; exit 3')).toEqual({ exitCode: 3, output: 'a\n' });
  expect(await runShell(String.raw`printf '\033[31mb\033[0m' >&2; cat`)).toEqual({ exitCode: 0, output: 'b' });
  expect(await runShell('kill -9 $$')).toEqual({ exitCode: null, output: '' });
  const message = 'cannot run sh: it has printed more than 16777216 bytes';
  await expect(runShell('yes')).rejects.toThrow(new ProgramError(message));
});

// `sleep` outlives its shell, and keeps the streams open.
test('ends the program after 10 minutes, and if it is aborted', async () => {
  const directory = createTemporaryDirectory();
  const started = path.join(directory, 'started');
  const ended = path.join(directory, 'ended');
  fakeUntilEnd('setTimeout', 'clearTimeout');
  const onEnd = vi.fn<() => void>();
  const run = runShell(`trap '' TERM; touch ${started}; sleep 3; touch ${ended}`).finally(onEnd);
  run.catch(() => {});
  while (!existsSync(started)) await setImmediate();
  await vi.advanceTimersByTimeAsync(599_999);
  expect(onEnd).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  await expect(run).rejects.toThrow(new ProgramError('sh has not ended after 600 s'));
  expect(existsSync(ended)).toBe(false);
  await expect(runShell('sleep 3', AbortSignal.timeout(50))).rejects.toThrow('aborted due to timeout');
  await expect(runShell('true', AbortSignal.abort())).rejects.toThrow('aborted');
});

test.each([
  ['/none/a', 'cannot run /none/a: it does not exist'],
  ['/etc/passwd', 'cannot run /etc/passwd: it is not executable'],
])('says why it cannot run %s', async (program, message) => {
  await expect(runProgram(program, [], { signal: NEVER_ABORTED })).rejects.toThrow(new ProgramError(message));
});
