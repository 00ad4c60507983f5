import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { onTestFinished } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** A command of the program in a process of its own, killed at the end of its test. */
export interface CommandProcess {
  readonly child: ChildProcess;
  /** What it has said so far, on stdout and stderr. */
  output: () => string;
  /** Its JSON lines so far. */
  lines: () => Record<string, unknown>[];
  /** Its exit code, once it has ended. */
  readonly ended: Promise<number | null>;
}

/** Starts it. `stdout` may be a file descriptor instead of a pipe. */
export function startCommand(args: readonly string[], stdout: 'pipe' | number = 'pipe'): CommandProcess {
  const child = spawn(process.execPath, ['--import', 'tsx', 'src/cli/main.ts', ...args], {
    cwd: ROOT,
    stdio: ['ignore', stdout, 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => void (output += chunk.toString()));
  }
  return {
    child,
    output: () => output,
    lines: () =>
      output
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    ended: new Promise((resolve) => child.once('close', (code) => void resolve(code))),
  };
}
