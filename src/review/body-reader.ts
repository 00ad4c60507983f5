import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { formatMebibytes } from '../common/printable-text.ts';
import { findUid } from './parse-review.ts';
import { BadReview, UnreadBody } from './review-fault.ts';

/** Of all arriving bodies. With 32 MiB, a flood would use all the memory of the pod, because V8 frees them late. */
const MAX_ARRIVING_BYTES = 16 * 1024 * 1024;
/** etcd limits an object to 1.5 MiB. This leaves room for the old and the new one. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** Shared, because the garbage collector frees buffers of this size too late during a flood. */
const JOINED = Buffer.allocUnsafeSlow(MAX_BODY_BYTES);
/** Each piece costs a call, however small it is. TLS records of the API server have 1 to 16 KiB. */
const MAX_PIECES = 1_000;

/**
 * Reads bodies within a limit of memory. Beyond it, the reader gives up the body that has been arriving for the longest
 * time, because the API server sends a body immediately.
 */
export class BodyReader {
  /** The bytes of each body that is arriving, the oldest body first. */
  readonly #arriving = new Map<() => void, number>();
  #bytes = 0;

  /**
   * Reads and parses a body. `parse` must not keep the buffer, which the next body overwrites.
   * @throws BadReview, UnreadBody, or the error of the connection or of `parse`
   */
  async read<T>(request: IncomingMessage, parse: (body: Buffer) => T, timeoutMs: number): Promise<T> {
    // The API server never compresses reviews, and a few bytes can inflate to gigabytes.
    if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
      throw new BadReview('the request body is compressed');
    }
    const { 'content-length': length } = request.headers;
    if (length === undefined) throw new BadReview('the request does not say how long its body is');
    if (Number(length) > MAX_BODY_BYTES) {
      throw new BadReview(`the request body is larger than ${formatMebibytes(MAX_BODY_BYTES)}`);
    }
    const pieces: Buffer[] = [];
    const unread = new AbortController();
    const stop = (reason: string): void => unread.abort(new UnreadBody(reason, findUid(pieces[0] ?? Buffer.alloc(0))));
    const giveUp = (): void => stop('too many requests at once');
    const onData = (piece: Buffer): void => {
      pieces.push(piece);
      this.#add(giveUp, piece.length);
      if (pieces.length > MAX_PIECES) stop(`the request body has more than ${MAX_PIECES} pieces`);
    };
    const timer = setTimeout(() => stop('the request body did not arrive in time'), timeoutMs);
    request.on('data', onData);
    try {
      await once(request, 'end', { signal: unread.signal });
      let joined = 0;
      for (const piece of pieces) joined += piece.copy(JOINED, joined);
      return parse(JOINED.subarray(0, joined));
    } catch (error) {
      throw unread.signal.aborted ? unread.signal.reason : error;
    } finally {
      clearTimeout(timer);
      request.off('data', onData);
      this.#remove(giveUp);
    }
  }

  #add(giveUp: () => void, bytes: number): void {
    this.#arriving.set(giveUp, (this.#arriving.get(giveUp) ?? 0) + bytes);
    this.#bytes += bytes;
    for (const oldest of this.#arriving.keys()) {
      if (this.#bytes <= MAX_ARRIVING_BYTES) return;
      this.#remove(oldest);
      oldest();
    }
  }

  #remove(giveUp: () => void): void {
    this.#bytes -= this.#arriving.get(giveUp) ?? 0;
    this.#arriving.delete(giveUp);
  }
}
