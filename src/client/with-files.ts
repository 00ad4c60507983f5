import { CliError, EXIT_CODE } from './exit.ts';
import { withStopSignal } from './signals.ts';
import { FileError } from '../files/file-error.ts';

/**
 * Reads files with a signal that aborts at SIGTERM or SIGINT.
 * @param interruption the message of the error if a signal has interrupted it
 * @throws CliError instead of FileError, or if a signal has interrupted it
 */
export async function withFiles<T>(
  read: (signal: AbortSignal) => Promise<T>,
  interruption = 'interrupted',
): Promise<T> {
  try {
    return await withStopSignal(read, interruption);
  } catch (error) {
    throw error instanceof FileError ? new CliError(error.message, EXIT_CODE.usage, { cause: error }) : error;
  }
}
