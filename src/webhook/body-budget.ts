import { waitOrAbort } from '../kube/wait.ts';

/** The part of a body that has arrived. */
export interface IncomingBody {
  /**
   * Room for a body of which this many bytes have arrived. What is held already stands at its beginning, the rest is anything. Waits until so
   * much may be held. Rejects with the signal's reason.
   */
  readonly room: (bytes: number, signal: AbortSignal) => Promise<Buffer>;
  /** The body is not needed any more, and its room belongs to others. May be called more than once. */
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

/** One that is arriving. */
interface Body {
  /** Bytes of it. */
  arrived: number;
  /** When the last of them came. */
  arrivedAt: number;
  room: Buffer;
  /** Is it only waiting for others? */
  waits: boolean;
  readonly giveWay: () => void;
}

/** The API server sends a body at once. One of which nothing has come for so long, in milliseconds, gives way to those that wait. */
const STALLED_MS = 1_000;
const NO_ROOM = Buffer.alloc(0);
/** Room comes in powers of two from this on, so that it fits the next body too. */
const ROOM_MIN = 1_024;
/** Bytes that are kept for bodies to come, and for how long after the last one went. */
const SPARE_MAX = 32 * 1024 * 1024;
const SPARE_MS = 5_000;

/**
 * Bounds the memory of bodies that are arriving: beyond it they wait in the order in which they began, and those that have stalled give way.
 *
 * What counts is what has arrived, not what was announced: a client that announces megabytes and sends a byte a second takes
 * away next to nothing. The body that began first always goes on, so that bodies which each hold a part never wait for each other.
 *
 * Room is used again: given to the garbage collector, a megabyte for each review makes it go through the whole heap every few reviews,
 * which takes longer than answering them (npm run bench -- --only webhook).
 */
export class BodyBudget {
  readonly #total: number;
  readonly #small: number;
  /** In the order in which they began. */
  readonly #bodies = new Set<Body>();
  readonly #spare = new SpareRoom();
  #held = 0;
  #waiting: (() => void)[] = [];

  constructor({ total, small }: BodyBudgetOptions) {
    this.#total = total;
    this.#small = small;
  }

  /** A body begins to arrive. `giveWay` is called, perhaps more than once, when it has stalled while others wait: it should be released. */
  open(giveWay: () => void): IncomingBody {
    const body: Body = { arrived: 0, arrivedAt: performance.now(), room: NO_ROOM, waits: false, giveWay };
    this.#bodies.add(body);
    return {
      waits: () => body.waits,
      room: async (bytes, signal) => {
        body.waits = true;
        while (!this.#fits(body, bytes)) await this.#change(signal);
        body.waits = false;
        this.#held += bytes - body.arrived;
        body.arrived = bytes;
        body.arrivedAt = performance.now();
        if (bytes > body.room.length) {
          const larger = this.#spare.take(roomFor(bytes));
          body.room.copy(larger);
          this.#spare.give(body.room);
          body.room = larger;
        }
        return body.room;
      },
      release: () => {
        this.#held -= body.arrived;
        this.#spare.give(body.room);
        this.#bodies.delete(body);
        body.arrived = 0;
        body.room = NO_ROOM;
        const woken = this.#waiting;
        this.#waiting = [];
        for (const wake of woken) wake();
      },
    };
  }

  #fits(body: Body, bytes: number): boolean {
    const [first] = this.#bodies;
    return first === body || bytes <= this.#small || this.#held - body.arrived + bytes <= this.#total;
  }

  /** Waits until some body is gone. Who gave up is forgotten with the next one that goes, which is its own at the latest. */
  async #change(signal: AbortSignal): Promise<void> {
    const change = new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
    });
    const looking = setInterval(() => {
      for (const { arrivedAt, waits, giveWay } of this.#bodies) {
        if (!waits && performance.now() - arrivedAt > STALLED_MS) giveWay();
      }
    }, STALLED_MS / 4);
    try {
      await waitOrAbort(change, signal);
    } finally {
      clearInterval(looking);
    }
  }
}

/** Room that nothing uses, by its size. */
class SpareRoom {
  readonly #bySize = new Map<number, Buffer[]>();
  #bytes = 0;
  #forgets: NodeJS.Timeout | undefined;

  take(size: number): Buffer {
    const spare = this.#bySize.get(size)?.pop();
    if (spare === undefined) return Buffer.allocUnsafeSlow(size);
    this.#bytes -= size;
    return spare;
  }

  give(room: Buffer): void {
    if (room.length === 0 || this.#bytes + room.length > SPARE_MAX) return;
    this.#bytes += room.length;
    const same = this.#bySize.get(room.length);
    if (same === undefined) this.#bySize.set(room.length, [room]);
    else same.push(room);
    this.#forgets ??= setTimeout(() => {
      this.#bySize.clear();
      this.#bytes = 0;
      this.#forgets = undefined;
    }, SPARE_MS).unref();
    this.#forgets.refresh();
  }
}

function roomFor(bytes: number): number {
  return Math.max(ROOM_MIN, 2 ** Math.ceil(Math.log2(bytes)));
}
