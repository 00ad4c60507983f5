import { execFile, type ExecFileException } from 'node:child_process';
import { promisify, stripVTControlCharacters } from 'node:util';

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
 * @throws ProgramError if it does not start, or after the timeout; the signal's reason
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  { env = {}, timeoutMs, signal }: { env?: NodeJS.ProcessEnv; timeoutMs: number; signal: AbortSignal },
): Promise<ProgramResult> {
  signal.throwIfAborted();
  const limits = { timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: MAX_OUTPUT, signal } as const;
  const result = promisify(execFile)(program, args, { ...limits, env: { ...process.env, ...env } });
  result.child.stdin?.end();
  const { code, killed, stdout, stderr } = await result
    .then((output) => ({ ...output, code: 0, killed: false }))
    .catch((error: ExecFileException & { stdout: string; stderr: string }) => error);
  signal.throwIfAborted();
  if (typeof code === 'string') throw new ProgramError(`cannot run ${program}: ${REASONS[code] ?? code}`);
  if (killed === true) throw new ProgramError(`${program} has not ended after ${timeoutMs / 1000} s`);
  return { exitCode: code ?? null, output: stripVTControlCharacters(stdout + stderr) };
}
