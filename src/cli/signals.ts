/** Waits for SIGTERM or SIGINT. A second signal ends the process. */
export async function waitForStopSignal(): Promise<NodeJS.Signals> {
  return await new Promise((resolve) => {
    const onSignal = (signal: NodeJS.Signals): void => {
      process.removeListener('SIGTERM', onSignal);
      process.removeListener('SIGINT', onSignal);
      resolve(signal);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}
