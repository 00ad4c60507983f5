import { fstatSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { CommandFormatter } from '../client/output/advice.ts';
import { CliError, EXIT_CODE, type ExitCode } from '../client/exit.ts';
import { isInterrupted } from '../client/signals.ts';
import { explainError } from '../files/file-error.ts';
import { reportError, type ProcessIo } from './program.ts';

/** Connects a program to the streams, the environment and the exit code of this process. */
export function runInProcess(name: string, run: (io: ProcessIo) => Promise<ExitCode>): void {
  const io: ProcessIo = {
    stdout: (text) => {
      const { fd } = process.stdout;
      // On a full disk, a stream writes a part of a file, and does not notice.
      try {
        if (fstatSync(fd).isFile()) writeFileSync(fd, text);
        else process.stdout.write(text);
      } catch (error) {
        throw toOutputError(error);
      }
    },
    stderr: (text) => void process.stderr.write(text),
  };

  // `machineconfig-guard --help | head -1` closes the pipe early. That is no error.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw toOutputError(error);
    });
  }

  // Unhandled rejections arrive here too.
  process.on('uncaughtException', (error) => {
    process.exit(reportError(error, io, new CommandFormatter(name, {})));
  });

  // process.exit() would truncate output to a pipe. No top-level await: the bundle is CommonJS.
  void run(io).then((exitCode) => {
    process.exitCode = isInterrupted() ? EXIT_CODE.interrupted : exitCode;
  });
}

function toOutputError(error: unknown): CliError {
  const { message } = explainError('the output', error, 'write') as Error;
  return new CliError(message, EXIT_CODE.failure, { cause: error });
}
