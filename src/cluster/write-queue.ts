/** How much a {@link WriteQueue} does and keeps. */
export interface WriteQueueLimits {
  /** So many writes at once; each may open a connection. */
  readonly atOnce: number;
  /** So many wait; beyond it the one that has waited longest is given up. */
  readonly waiting: number;
}

interface Waiting {
  readonly begin: () => void;
  readonly giveUp: () => void;
}

/**
 * Writes that nobody waits for, a few at a time: what happens to every node of a cluster at the same moment must neither open a
 * connection for each to the API server nor keep them all in memory.
 */
export class WriteQueue {
  readonly #limits: WriteQueueLimits;
  readonly #waiting: Waiting[] = [];
  #writing = 0;

  constructor(limits: WriteQueueLimits) {
    this.#limits = limits;
  }

  /** What the write answers, once it was its turn; undefined where newer ones took its place. Rejects as the write does. */
  async inTurn<Result>(write: () => Promise<Result>): Promise<Result | undefined> {
    if (this.#writing < this.#limits.atOnce) this.#writing += 1;
    else if (!(await this.#turn())) return undefined;
    try {
      return await write();
    } finally {
      const next = this.#waiting.shift();
      // The place goes on to the next one.
      if (next === undefined) this.#writing -= 1;
      else next.begin();
    }
  }

  async #turn(): Promise<boolean> {
    return await new Promise<boolean>((resolve) => {
      this.#waiting.push({
        begin: () => {
          resolve(true);
        },
        giveUp: () => {
          resolve(false);
        },
      });
      if (this.#waiting.length > this.#limits.waiting) this.#waiting.shift()?.giveUp();
    });
  }
}
