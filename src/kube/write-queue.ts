/** How much a {@link WriteQueue} does and keeps. */
export interface WriteQueueLimits {
  /** So many writes at once; each may open a connection. */
  readonly atOnce: number;
  /** So many wait; beyond it the one that has waited longest is given up. */
  readonly waiting: number;
}

/**
 * Writes that nobody waits for, a few at a time: what happens to every node of a cluster at the same moment must neither open a
 * connection for each to the API server nor keep them all in memory.
 */
export class WriteQueue {
  readonly #limits: WriteQueueLimits;
  /** Those that wait, the first one first: each is told whether its turn has come or never comes. */
  readonly #waiting: ((isTurn: boolean) => void)[] = [];
  #writing = 0;

  constructor(limits: WriteQueueLimits) {
    this.#limits = limits;
  }

  /** Writes, once it is its turn; false where newer ones took its place. Rejects as the write does. */
  async inTurn(write: () => Promise<unknown>): Promise<boolean> {
    if (this.#writing < this.#limits.atOnce) this.#writing += 1;
    else if (!(await this.#turn())) return false;
    try {
      await write();
      return true;
    } finally {
      const next = this.#waiting.shift();
      // The place goes on to the next one.
      if (next === undefined) this.#writing -= 1;
      else next(true);
    }
  }

  async #turn(): Promise<boolean> {
    return await new Promise<boolean>((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length > this.#limits.waiting) this.#waiting.shift()?.(false);
    });
  }
}
