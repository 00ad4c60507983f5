import { spawn } from 'node:child_process';

import { until } from '../control-plane/until.ts';

export interface ProcessResult {
  /** Null if a signal ended the process. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProcessOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Standard input. */
  readonly input?: string;
}

/** A process whose output is collected. */
export interface RunningProcess {
  readonly result: Promise<ProcessResult>;
  /** Waits until standard error contains a text. */
  readonly awaitStderr: (text: string) => Promise<void>;
}

/** Starts a process without waiting for its end. */
export function startProcess(command: string, args: readonly string[], options: ProcessOptions = {}): RunningProcess {
  const { cwd, env, input = '' } = options;
  const child = spawn(command, args, { cwd, env });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  // A process may end without reading its input.
  child.stdin.on('error', () => undefined).end(input);
  const result = new Promise<ProcessResult>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) => resolve({ exitCode, stdout, stderr }));
  });
  const awaitStderr = async (text: string) => {
    await until(`"${text}" on stderr`, async () => stderr.includes(text), { timeoutMs: 20_000, everyMs: 50 });
  };
  return { result, awaitStderr };
}

/** Runs a process to its end. A non-zero exit code is a result, not an error. */
export function runProcess(
  command: string,
  args: readonly string[],
  options: ProcessOptions = {},
): Promise<ProcessResult> {
  return startProcess(command, args, options).result;
}
