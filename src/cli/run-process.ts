import process from 'node:process';
import type { ExitCode } from './exit.ts';
import { reportError, type Terminal } from './program.ts';

/** Runs a command line as this process. */
export function runProcess(name: string, run: (terminal: Terminal) => Promise<ExitCode>): void {
  const terminal: Terminal = {
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
    env: process.env,
  };

  // `machineconfig-guard --help | head -1` closes the pipe early. That is no error.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }

  // Unhandled rejections arrive here too.
  process.on('uncaughtException', (error) => {
    process.exit(reportError(error, terminal, name));
  });

  // process.exit() would truncate output to a pipe. No top-level await: the bundle is CommonJS.
  void run(terminal).then((exitCode) => {
    process.exitCode = exitCode;
  });
}
