/**
 * Waits for SIGTERM or SIGINT. A second one ends the process at once, for whoever does not want to wait for the drain.
 *
 * @returns the name of the signal
 */
export async function waitForStopSignal(): Promise<NodeJS.Signals> {
  return await new Promise((resolve) => {
    const onSignal = (signal: NodeJS.Signals): void => {
      process.removeListener('SIGTERM', onSignal);
      process.removeListener('SIGINT', onSignal);
      // From here on the system's own action applies again.
      resolve(signal);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}
