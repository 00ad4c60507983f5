import { CliError, EXIT_CODE } from '../../client/exit.ts';
import { withStopSignal } from '../../client/signals.ts';
import { FileError } from '../../files/file-error.ts';

/**
 * Reads files with a signal that aborts at SIGTERM or SIGINT.
 * @throws CliError instead of FileError, or if a signal has interrupted it
 */
export async function withFiles<T>(read: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return await withStopSignal(async (signal) => {
    try {
      return await read(signal);
    } catch (error) {
      if (signal.aborted) throw new CliError('interrupted', EXIT_CODE.interrupted);
      throw error instanceof FileError ? new CliError(error.message, EXIT_CODE.usage, { cause: error }) : error;
    }
  });
}
