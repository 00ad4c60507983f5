import { spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';

/** Of what a program prints, its end is kept. */
const MAX_OUTPUT = 64 * 1024;
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  EACCES: 'it is not executable',
};

/** A program could not run, or not to its end. */
export class ProgramError extends Error {
  override readonly name = 'ProgramError';
}

export interface ProgramResult {
  /** Null if a signal ended it. */
  readonly exitCode: number | null;
  /** The end of what it printed on stdout and stderr. */
  readonly output: string;
}

/**
 * Runs a program without input until it ends.
 *
 * @throws ProgramError if it does not start, or after the timeout; the signal's reason
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  { env = {}, timeoutMs, signal }: { env?: NodeJS.ProcessEnv; timeoutMs: number; signal: AbortSignal },
): Promise<ProgramResult> {
  signal.throwIfAborted();
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-MAX_OUTPUT);
    });
  }
  return await new Promise((resolve, reject) => {
    const end = (reason: unknown): void => {
      child.kill('SIGKILL');
      // A program that it started can keep them open.
      for (const stream of [child.stdout, child.stderr]) stream.destroy();
      reject(reason instanceof Error ? reason : new Error('aborted'));
    };
    const onAbort = (): void => end(signal.reason);
    const timeout = setTimeout(
      () => end(new ProgramError(`${program} has not ended after ${timeoutMs / 1000} s`)),
      timeoutMs,
    );
    signal.addEventListener('abort', onAbort, { once: true });
    child.once('error', ({ code = '' }: NodeJS.ErrnoException) => {
      reject(new ProgramError(`cannot run ${program}: ${REASONS[code] ?? code}`));
    });
    child.once('close', (exitCode) => {
      clearTimeout(timeout);
      signal.removeEventListener('abort', onAbort);
      resolve({ exitCode, output: stripVTControlCharacters(output) });
    });
  });
}
