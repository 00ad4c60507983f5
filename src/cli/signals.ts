/** Waits for SIGTERM or SIGINT and returns its name. A second signal ends the process immediately. */
export async function waitForStopSignal(): Promise<NodeJS.Signals> {
  return await new Promise((resolve) => {
    const onSignal = (signal: NodeJS.Signals): void => {
      // Without listeners the default action applies to the next signal.
      process.removeListener('SIGTERM', onSignal);
      process.removeListener('SIGINT', onSignal);
      resolve(signal);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}
