import { setImmediate as waitForNextTurn } from 'node:timers/promises';

/** Yields the items in slices of at most `size`. Between two slices other work runs, such as waiting reviews. */
export async function* inSlices<T>(items: Iterable<T>, size: number): AsyncGenerator<readonly T[]> {
  let slice: T[] = [];
  for (const item of items) {
    if (slice.length === size) {
      yield slice;
      slice = [];
      await waitForNextTurn();
    }
    slice.push(item);
  }
  yield slice;
}
