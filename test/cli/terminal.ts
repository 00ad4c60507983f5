import { onTestFinished } from 'vitest';

/** Makes stdout, or stderr, a terminal of this width until the end of the test. */
export function useTerminal(columns: number, name: 'stdout' | 'stderr' = 'stdout'): void {
  const stream = process[name];
  const before = { isTTY: stream.isTTY, columns: stream.columns };
  Object.assign(stream, { isTTY: true, columns });
  onTestFinished(() => void Object.assign(stream, before));
}
