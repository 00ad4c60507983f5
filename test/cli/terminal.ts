import { onTestFinished } from 'vitest';

/** Makes stdout a terminal of this width until the end of the test. */
export function useTerminal(columns: number): void {
  const properties = { isTTY: true, columns };
  const { stdout } = process;
  const before = Object.keys(properties).map((key) => [key, Object.getOwnPropertyDescriptor(stdout, key)] as const);
  for (const [key, value] of Object.entries(properties)) {
    Object.defineProperty(stdout, key, { value, configurable: true });
  }
  onTestFinished(() => {
    for (const [key, descriptor] of before) {
      if (descriptor === undefined) Reflect.deleteProperty(stdout, key);
      else Object.defineProperty(stdout, key, descriptor);
    }
  });
}
