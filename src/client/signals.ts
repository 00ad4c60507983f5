let hasSigint = false;

/** Whether Ctrl-C ended a wait of this process. */
export function isInterrupted(): boolean {
  return hasSigint;
}

/** Waits for SIGTERM or SIGINT. A second signal ends the process. */
export async function waitForStopSignal(): Promise<NodeJS.Signals> {
  return await new Promise((resolve) => {
    onStopSignal(resolve);
  });
}

/** Calls `work` with a signal that aborts at SIGTERM or SIGINT. A second signal ends the process. */
export async function withStopSignal<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const removeListeners = onStopSignal(() => {
    stop.abort();
  });
  try {
    return await work(stop.signal);
  } finally {
    removeListeners();
  }
}

/** @returns the function that removes the listeners, which the first signal removes, too */
function onStopSignal(listener: (signal: NodeJS.Signals) => void): () => void {
  const removeListeners = (): void => {
    process.removeListener('SIGTERM', onSignal);
    process.removeListener('SIGINT', onSignal);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    removeListeners();
    hasSigint ||= signal === 'SIGINT';
    listener(signal);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return removeListeners;
}
