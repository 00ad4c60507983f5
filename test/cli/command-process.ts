import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { constants } from 'node:os';
import { inject, onTestFinished } from 'vitest';
import type { Outcome } from './run-program.ts';

export type CommandProcess = ReturnType<typeof startCommand>;

/**
 * Starts a command in its own process, with a standard input that stays silent. The end of the test kills it.
 * @param file gets its standard output instead
 */
export function startCommand(args: readonly string[], program = inject('program'), file?: string) {
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env['PATH'] },
    stdio: ['pipe', file === undefined ? 'pipe' : openSync(file, 'w'), 'pipe'],
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
    outcome: new Promise<Outcome>((resolve) => {
      child.once('close', (code, signal) => {
        // As a shell reports it.
        resolve({ exitCode: code ?? 128 + constants.signals[signal ?? 'SIGKILL'], ...output });
      });
    }),
  };
}
