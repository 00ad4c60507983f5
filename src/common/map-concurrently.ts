import PQueue from 'p-queue';

/**
 * Like `Promise.all(items.map(work))`, but only some items are in work at a time. After a failure, no further item
 * starts, and the items in work end before the promise rejects.
 *
 * @throws the first error of `work`
 */
export async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  concurrency: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const queue = new PQueue({ concurrency });
  try {
    return await queue.addAll(items.map((item) => async () => await work(item)));
  } finally {
    queue.clear();
    await queue.onIdle();
  }
}
