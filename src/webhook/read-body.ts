import type { IncomingMessage } from 'node:http';
import { orAborted } from '../cluster/wait.ts';
import { BadReview } from '../policy/review.ts';
import type { HeldBody } from './body-budget.ts';

/** What is read of a request. */
export interface ReadBodyOptions {
  /** Where its bytes are counted. */
  readonly held: HeldBody;
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
  const tooLarge = new BadReview(`the request body is larger than ${limit / 1024 / 1024} MiB`);
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge;
  let room: Buffer = Buffer.alloc(0);
  let length = 0;
  try {
    // Not destroyed when it is left early: the answer goes out on the same connection.
    const pieces = request.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
    for (;;) {
      // A request that has been answered before it was complete never ends, not even with its connection.
      const { done, value: piece } = await orAborted(pieces.next(), signal);
      if (done === true) break;
      const needed = length + piece.length;
      if (needed > limit) throw tooLarge;
      room = await held.room(needed, signal);
      piece.copy(room, length);
      length = needed;
    }
  } catch (error) {
    if (error instanceof BadReview || signal.aborted) throw error;
    throw new BadReview('the request body broke off');
  }
  return room.subarray(0, length);
}
