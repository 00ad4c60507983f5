import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export function collectGarbage() {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

/** The bytes that are in use after a garbage collection. */
export function measureHeap(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
