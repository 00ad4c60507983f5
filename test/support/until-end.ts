import { onTestFinished, vi } from 'vitest';

/** Runs something that ends when its signal aborts, until the end of the test. Returns how to end it earlier. */
export function runUntilEnd(run: (signal: AbortSignal) => Promise<unknown>) {
  const stop = new AbortController();
  const running = run(stop.signal);
  const end = async () => {
    stop.abort();
    await running;
  };
  onTestFinished(end);
  return end;
}

/** Replaces these timers until the end of the test. */
export function fakeUntilEnd(
  ...toFake: readonly ('clearInterval' | 'clearTimeout' | 'Date' | 'performance' | 'setInterval' | 'setTimeout')[]
) {
  vi.useFakeTimers({ toFake: [...toFake] });
  onTestFinished(() => void vi.useRealTimers());
}
