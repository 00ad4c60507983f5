import { onTestFinished } from 'vitest';

/** Makes stdout a terminal of this width until the end of the test. */
export function useTerminal(columns: number): void {
  const { stdout } = process;
  const before = { isTTY: stdout.isTTY, columns: stdout.columns };
  Object.assign(stdout, { isTTY: true, columns });
  onTestFinished(() => void Object.assign(stdout, before));
}
