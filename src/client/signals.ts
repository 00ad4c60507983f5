let hasSigint = false;

export function isInterrupted(): boolean {
  return hasSigint;
}

/** Calls `work` with a signal that aborts at SIGTERM or SIGINT. A second signal ends the process. */
export async function withStopSignal<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
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
  } finally {
    removeListeners();
  }
}
