import { spawn, type SpawnOptionsWithoutStdio } from 'node:child_process';

export interface ProcessResult {
  /** Null if a signal ended the process. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Of the process, with the text of its standard input. */
type ProcessOptions = Pick<SpawnOptionsWithoutStdio, 'cwd' | 'env'> & { readonly input?: string };

/** Runs a process to its end. A non-zero exit code is a result, not an error. */
export function runProcess(
  command: string,
  args: readonly string[],
  { input = '', ...options }: ProcessOptions = {},
): Promise<ProcessResult> {
  const child = spawn(command, args, options);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  // A process may end without reading its input.
  child.stdin.on('error', () => undefined).end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) => resolve({ exitCode, stdout, stderr }));
  });
}

/**
 * Runs a process to its end and returns its standard output.
 * @throws Error unless the exit code is 0
 */
export async function runOk(command: string, args: readonly string[], options?: ProcessOptions): Promise<string> {
  const { exitCode, stdout, stderr } = await runProcess(command, args, options);
  if (exitCode === 0) return stdout;
  throw new Error(`${command} ${args.join(' ')} ended with ${exitCode}: ${stderr || stdout}`);
}
