import process from 'node:process';
import type { ExitCode } from './exit.ts';
import { reportError, type Terminal } from './program.ts';

/** Runs a command line as this process: its output, its exit code, and errors that nothing caught. */
export function runProcess(name: string, run: (terminal: Terminal) => Promise<ExitCode>): void {
  const terminal: Terminal = {
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
    env: process.env,
  };

  // `machineconfig-guard --help | head -1` closes the pipe early. The command still finishes with its own exit code.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }

  // Unhandled rejections arrive here too. The state is unknown, so the process ends, with a sentence and no stack.
  process.on('uncaughtException', (error) => {
    process.exit(reportError(error, terminal, name));
  });

  // process.exit() would cut off output that is still on its way through a pipe. No top-level await: the bundle is
  // CommonJS.
  void run(terminal).then((exitCode) => {
    process.exitCode = exitCode;
  });
}
