import { execFile, type ExecFileException } from 'node:child_process';
import { promisify, stripVTControlCharacters } from 'node:util';
import { isTimeout, withTimeout } from '../../common/wait.ts';

/** For the pull of an image over a slow connection. A render takes seconds. */
const TIMEOUT_MS = 600_000;
const MAX_OUTPUT = 16 * 1024 ** 2;
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  EACCES: 'it is not executable',
  ERR_CHILD_PROCESS_STDIO_MAXBUFFER: `it has printed more than ${MAX_OUTPUT} bytes`,
};

/** A program could not run, or not to its end. */
export class ProgramError extends Error {
  override readonly name = 'ProgramError';
}

export interface ProgramResult {
  /** Null if a signal ended it. */
  readonly exitCode: number | null;
  /** What it printed on stdout, and then on stderr. */
  readonly output: string;
}

/**
 * Runs a program without input until it ends.
 * @throws ProgramError if it does not start, or after 10 minutes; the signal's reason
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  { env = {}, signal }: { env?: NodeJS.ProcessEnv; signal: AbortSignal },
): Promise<ProgramResult> {
  const { code, cause, stdout, stderr } = await withTimeout(TIMEOUT_MS, signal, async (limited) => {
    const limits = { killSignal: 'SIGKILL', maxBuffer: MAX_OUTPUT, signal: limited } as const;
    const result = promisify(execFile)(program, args, { ...limits, env: { ...process.env, ...env } });
    result.child.stdin?.end();
    return await result
      .then((output) => ({ ...output, code: 0, cause: undefined }))
      .catch((error: ExecFileException & { stdout: string; stderr: string }) => error);
  });
  signal.throwIfAborted();
  if (isTimeout(cause)) throw new ProgramError(`${program} has not ended after ${TIMEOUT_MS / 1000} s`);
  if (typeof code === 'string') throw new ProgramError(`cannot run ${program}: ${REASONS[code] ?? code}`);
  return { exitCode: code ?? null, output: stripVTControlCharacters(stdout + stderr) };
}
