import { CliError, EXIT_CODE } from './exit.ts';

let hasSigint = false;

export function isInterrupted(): boolean {
  return hasSigint;
}

/**
 * Calls `work` with a signal that aborts at SIGTERM or SIGINT. A second signal ends the process.
 * @throws CliError with `interruption`, if it is given, instead of an error of `work` after a signal
 */
export async function withStopSignal<T>(work: (signal: AbortSignal) => Promise<T>, interruption?: string): Promise<T> {
  const stop = new AbortController();
  const removeListeners = (): void => {
    process.off('SIGTERM', onSignal).off('SIGINT', onSignal);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    removeListeners();
    hasSigint ||= signal === 'SIGINT';
    stop.abort();
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  try {
    return await work(stop.signal);
  } catch (error) {
    if (stop.signal.aborted && interruption !== undefined) throw new CliError(interruption, EXIT_CODE.interrupted);
    throw error;
  } finally {
    removeListeners();
  }
}
