import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type PQueue from 'p-queue';
import { BadReview, findUid, ReviewFault } from './parse-review.ts';

/** The guard did not read the body to its end. The review may be a good one. */
class UnreadBody extends ReviewFault {}

/**
 * The API server sends one object, which etcd limits to 1.5 MiB. Twice that leaves room for a review with the old and
 * the new object.
 */
const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** Shared, because the garbage collector frees buffers of this size too late during a flood. */
const JOINED = Buffer.allocUnsafeSlow(MAX_BODY_BYTES);
/** Each piece costs a call, however small it is. TLS records of the API server have 1 to 16 KiB. */
const MAX_PIECES = 1_000;
const TOO_MANY = 'too many requests at once';

/** Stops reading a body. */
type GiveUp = () => void;

/**
 * Reads bodies within a limit of memory. Beyond it, the reader gives up the body that has been arriving for the longest
 * time, because the API server sends a body immediately.
 */
export class BodyReader {
  readonly #maxBytes: number;
  readonly #turns: PQueue | undefined;
  /** The bytes of each body that is arriving, the oldest body first. */
  readonly #arriving = new Map<GiveUp, number>();
  #bytes = 0;

  /** @param turns lets the bodies of a flood be parsed one in each turn of the event loop */
  constructor(maxBytes: number, turns?: PQueue) {
    this.#maxBytes = maxBytes;
    this.#turns = turns;
  }

  /**
   * Reads and parses the body of a request that announces its length.
   *
   * @param parse must not keep the buffer, which the next body overwrites
   * @throws BadReview if the body is compressed or too large; UnreadBody if it is late, in too many pieces or given up
   *   for other bodies; the error of the connection or of `parse`
   */
  async read<T>(request: IncomingMessage, parse: (body: Buffer) => T, timeoutMs: number): Promise<T> {
    // The API server never compresses reviews, and a few bytes can inflate to gigabytes.
    if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
      throw new BadReview('the request body is compressed');
    }
    const { 'content-length': length } = request.headers;
    if (length === undefined) throw new BadReview('the request does not say how long its body is');
    if (Number(length) > MAX_BODY_BYTES) {
      throw new BadReview(`the request body is larger than ${MAX_BODY_BYTES / 1024 / 1024} MiB`);
    }
    const pieces: Buffer[] = [];
    const unread = new AbortController();
    const stop = (reason: string): void => {
      unread.abort(new UnreadBody(reason, findUid(pieces[0] ?? Buffer.alloc(0))));
    };
    const giveUp = (): void => stop(TOO_MANY);
    const onData = (piece: Buffer): void => {
      pieces.push(piece);
      this.#add(giveUp, piece.length);
      if (pieces.length > MAX_PIECES) stop(`the request body has more than ${MAX_PIECES} pieces`);
    };
    const timer = setTimeout(() => {
      stop(request.complete ? TOO_MANY : 'the request body did not arrive in time');
    }, timeoutMs);
    request.on('data', onData);
    try {
      await once(request, 'end', { signal: unread.signal });
      await this.#turns?.add(async () => await setImmediate(), { signal: unread.signal });
      return parse(joinPieces(pieces));
    } catch (error) {
      throw unread.signal.aborted ? unread.signal.reason : error;
    } finally {
      clearTimeout(timer);
      request.off('data', onData);
      this.#remove(giveUp);
    }
  }

  #add(giveUp: GiveUp, bytes: number): void {
    this.#arriving.set(giveUp, (this.#arriving.get(giveUp) ?? 0) + bytes);
    this.#bytes += bytes;
    for (const oldest of this.#arriving.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#remove(oldest);
      oldest();
    }
  }

  #remove(giveUp: GiveUp): void {
    this.#bytes -= this.#arriving.get(giveUp) ?? 0;
    this.#arriving.delete(giveUp);
  }
}

function joinPieces(pieces: readonly Buffer[]): Buffer {
  let length = 0;
  for (const piece of pieces) length += piece.copy(JOINED, length);
  return JOINED.subarray(0, length);
}
