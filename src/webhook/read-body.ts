import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type PQueue from 'p-queue';
import type { BodiesInFlight } from './bodies-in-flight.ts';
import { BadReview, findUid } from './parse-review.ts';

/** The guard did not read the body to its end. The review may be a good one. */
export class UnreadBody extends Error {
  override readonly name = 'UnreadBody';
  /** Empty if it has not arrived. */
  readonly uid: string;

  constructor(message: string, uid: string) {
    super(message);
    this.uid = uid;
  }
}

/**
 * The API server sends one object, which etcd limits to 1.5 MiB. Twice that leaves room for a review with the old and
 * the new object.
 */
const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** Each piece costs a call, however small it is. TLS records of the API server have 1 to 16 KiB. */
const MAX_PIECES = 1_000;
const TOO_MANY = 'too many requests at once';

/**
 * Reads the body of a request that announces its length.
 *
 * @param turns lets the bodies of a flood be parsed one in each turn of the event loop
 * @throws BadReview if the body is compressed or too large; UnreadBody if it is late, in too many pieces or given up
 *   for other bodies; the error of the connection
 */
export async function readBody(
  request: IncomingMessage,
  bodies: BodiesInFlight,
  timeoutMs: number,
  turns?: PQueue,
): Promise<Buffer> {
  // The API server never compresses reviews, and a few bytes can inflate to gigabytes.
  if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
    throw new BadReview('the request body is compressed');
  }
  const length = Number(request.headers['content-length'] ?? 0);
  if (length > MAX_BODY_BYTES) {
    throw new BadReview(`the request body is larger than ${MAX_BODY_BYTES / 1024 / 1024} MiB`);
  }
  // It grows with its pieces, because a client can announce more than it sends. Kept pieces would outlive the cheap
  // garbage collections.
  let body = Buffer.alloc(0);
  let receivedBytes = 0;
  let pieceCount = 0;
  const unread = new AbortController();
  const stop = (reason: string): void => {
    unread.abort(new UnreadBody(reason, findUid(body.subarray(0, receivedBytes))));
  };
  const giveUp = (): void => stop(TOO_MANY);
  const onData = (piece: Buffer): void => {
    const neededBytes = receivedBytes + piece.length;
    if (neededBytes > body.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(2 * neededBytes, length));
      body.copy(grown, 0, 0, receivedBytes);
      body = grown;
    }
    piece.copy(body, receivedBytes);
    receivedBytes = neededBytes;
    pieceCount += 1;
    bodies.add(giveUp, piece.length);
    if (pieceCount > MAX_PIECES) stop(`the request body has more than ${MAX_PIECES} pieces`);
  };
  const stopLate = (): void => {
    stop(request.complete ? TOO_MANY : 'the request body did not arrive in time');
  };
  const timer = setTimeout(stopLate, timeoutMs);
  request.on('data', onData);
  try {
    await once(request, 'end', { signal: unread.signal });
    await turns?.add(async () => await setImmediate(), { signal: unread.signal });
    return body;
  } catch (error) {
    throw unread.signal.aborted ? unread.signal.reason : error;
  } finally {
    clearTimeout(timer);
    request.off('data', onData);
    bodies.remove(giveUp);
  }
}
