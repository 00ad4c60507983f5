import type { IncomingMessage } from 'node:http';
import { BadReview } from './parse-review.ts';
import type { IncomingBody } from './body-budget.ts';

/** What is read of a request. */
export interface ReadBodyOptions {
  /** Where its bytes are counted. */
  readonly held: IncomingBody;
  /** Largest body in bytes. */
  readonly limit: number;
  /** Aborts when the client has gone or got its answer. That the body arrives in time is for the caller to see to. */
  readonly signal: AbortSignal;
}

/**
 * The body of a request, in one piece.
 *
 * Each piece is copied as it comes, into room that grows with it. Kept until the last, hundreds of pieces would outlive the young generation of
 * the heap, and their memory would be free only after a collection of the whole of it.
 *
 * @returns bytes in the room of `held`: theirs until that is released
 * @throws BadReview where it is compressed, larger than the limit, or breaks off; the signal's reason
 */
export async function readBody(request: IncomingMessage, { held, limit, signal }: ReadBodyOptions): Promise<Buffer> {
  // The API server compresses nothing that it sends to webhooks, and a few bytes that inflate to gigabytes are an old trick.
  if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
    throw new BadReview('the request body is compressed, which admission reviews are not');
  }
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  const pieces = new Pieces(request, signal);
  let room: Buffer = Buffer.alloc(0);
  let length = 0;
  try {
    for (let piece = await pieces.next(); piece !== undefined; piece = await pieces.next()) {
      const needed = length + piece.length;
      if (needed > limit) throw tooLarge(limit);
      room = await held.room(needed, signal);
      piece.copy(room, length);
      length = needed;
    }
  } finally {
    pieces.leave();
  }
  return room.subarray(0, length);
}

/** After each of these a piece may be there, or be known never to come. */
const CHANGES = ['readable', 'end', 'error', 'close'];

/**
 * The pieces of a body as they come. Node's own iterator is prepared for much that does not happen here, which takes longer than a
 * small body does; and left early, it would destroy the request, on whose connection the answer goes out.
 */
class Pieces {
  readonly #request: IncomingMessage;
  readonly #signal: AbortSignal;
  #wake: () => void = () => {};

  constructor(request: IncomingMessage, signal: AbortSignal) {
    this.#request = request;
    this.#signal = signal;
    for (const event of CHANGES) request.on(event, this.#onChange);
    // A request that has been answered before it was complete never ends, not even with its connection.
    signal.addEventListener('abort', this.#onChange);
  }

  /**
   * The next one; undefined at the end.
   *
   * @throws BadReview where there is none although the body is not complete; the signal's reason
   */
  async next(): Promise<Buffer | undefined> {
    for (;;) {
      this.#signal.throwIfAborted();
      const piece = this.#request.read() as Buffer | null;
      if (piece !== null) return piece;
      if (this.#request.complete) return undefined;
      if (this.#request.destroyed) throw new BadReview('the request body broke off');
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** No more of them are wanted. */
  leave(): void {
    for (const event of CHANGES) this.#request.off(event, this.#onChange);
    this.#signal.removeEventListener('abort', this.#onChange);
  }

  readonly #onChange = (): void => {
    this.#wake();
  };
}

function tooLarge(limit: number): BadReview {
  return new BadReview(`the request body is larger than ${limit / 1024 / 1024} MiB`);
}
