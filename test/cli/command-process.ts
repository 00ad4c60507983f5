import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import type { Outcome } from './run-program.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** A command in its own process. The end of the test kills it. */
export interface CommandProcess {
  readonly child: ChildProcess;
  stdout: () => string;
  stderr: () => string;
  readonly outcome: Promise<Outcome>;
}

/** Starts a command. `stdout` can be a file descriptor instead of a pipe. */
export function startCommand(args: readonly string[], stdout: 'pipe' | number = 'pipe'): CommandProcess {
  const child = spawn(process.execPath, ['--import', 'tsx', 'src/cli/main.ts', ...args], {
    cwd: ROOT,
    stdio: ['ignore', stdout, 'pipe'],
    env: { PATH: process.env['PATH'] },
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const output = { stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk: Buffer) => void (output.stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => void (output.stderr += chunk.toString()));
  return {
    child,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    outcome: new Promise((resolve) => {
      child.once('close', (code) => {
        resolve({ exitCode: code ?? -1, ...output });
      });
    }),
  };
}
