import { orAborted } from '../cluster/wait.ts';

/** The part of a body that has arrived. */
export interface HeldBody {
  /** Waits until this many bytes more may be held. Rejects with the signal's reason. */
  readonly grow: (bytes: number, signal: AbortSignal) => Promise<void>;
  /** The body is not needed any more. May be called more than once. */
  readonly release: () => void;
  /** Is it only waiting for others? */
  readonly waits: () => boolean;
}

/** How much of bodies may be held. */
export interface BodyBudgetOptions {
  /** Bytes of all bodies together. */
  readonly total: number;
  /** Up to this many bytes a body never waits. */
  readonly small: number;
}

/**
 * Bounds the memory of bodies that are arriving: beyond it they wait in the order in which they began.
 *
 * What counts is what has arrived, not what was announced: a client that announces megabytes and sends a byte a second takes
 * away a byte a second. The body that began first always goes on, so that bodies which each hold a part never wait for each other.
 */
export class BodyBudget {
  readonly #total: number;
  readonly #small: number;
  /** Bytes by body, in the order in which they began. */
  readonly #bodies = new Map<object, number>();
  #held = 0;
  #waiting: (() => void)[] = [];

  constructor({ total, small }: BodyBudgetOptions) {
    this.#total = total;
    this.#small = small;
  }

  /** A body begins to arrive. */
  open(): HeldBody {
    const body = {};
    let waits = false;
    this.#bodies.set(body, 0);
    return {
      waits: () => waits,
      grow: async (bytes, signal) => {
        waits = true;
        while (!this.#fits(body, bytes)) await this.#change(signal);
        waits = false;
        this.#held += bytes;
        this.#bodies.set(body, (this.#bodies.get(body) ?? 0) + bytes);
      },
      release: () => {
        this.#held -= this.#bodies.get(body) ?? 0;
        this.#bodies.delete(body);
        const woken = this.#waiting;
        this.#waiting = [];
        for (const wake of woken) wake();
      },
    };
  }

  #fits(body: object, bytes: number): boolean {
    const [first] = this.#bodies.keys();
    return first === body || (this.#bodies.get(body) ?? 0) + bytes <= this.#small || this.#held + bytes <= this.#total;
  }

  /** Waits until some body is gone. Who gave up is forgotten with the next one that goes, which is its own at the latest. */
  async #change(signal: AbortSignal): Promise<void> {
    const change = new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
    });
    await orAborted(change, signal);
  }
}
