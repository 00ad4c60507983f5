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
  const workOn = async (item: Item): Promise<Result> => {
    try {
      return await work(item);
    } catch (error) {
      queue.clear();
      throw error;
    }
  };
  try {
    return await queue.addAll(items.map((item) => async () => await workOn(item)));
  } finally {
    await queue.onIdle();
  }
}
