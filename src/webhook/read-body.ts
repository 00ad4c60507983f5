import type { IncomingMessage } from 'node:http';
import type { BodyBuffer } from './body-budget.ts';
import { BadReview } from './parse-review.ts';
import type { ReadPacer } from './read-pacer.ts';

/**
 * Reads a body into the buffer. Stored chunks would outlive the young generation of the heap, and only a full
 * garbage collection would free them.
 *
 * @param signal aborts when the client has gone or was answered; the caller enforces the timeout
 * @param pacer undefined for trusted connections, which never wait
 * @returns a part of the buffer, valid until its release
 * @throws BadReview if the body is compressed, larger than `maxBytes`, or incomplete. The signal's reason on
 *   abort
 */
export async function readBody(
  request: IncomingMessage,
  buffer: BodyBuffer,
  maxBytes: number,
  signal: AbortSignal,
  pacer?: ReadPacer,
): Promise<Buffer> {
  // The API server never compresses reviews, and a few bytes can inflate to gigabytes.
  if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
    throw new BadReview('the request body is compressed');
  }
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLargeError(maxBytes);
  const chunks = new ChunkReader(request, signal);
  let body: Buffer = Buffer.alloc(0);
  try {
    for (let chunk = await chunks.next(); chunk !== undefined; chunk = await chunks.next()) {
      if (body.length + chunk.length > maxBytes) throw tooLargeError(maxBytes);
      body = await buffer.append(chunk, signal);
      await pacer?.wait(chunk.length);
    }
  } finally {
    chunks.close();
  }
  return body;
}

const EVENTS = ['readable', 'end', 'error', 'close'];

/**
 * Reads chunks as they arrive. Node's iterator takes longer than a small body and, if it ends early, destroys
 * the connection of the answer.
 */
class ChunkReader {
  readonly #request: IncomingMessage;
  readonly #signal: AbortSignal;
  #wake: () => void = () => {};

  constructor(request: IncomingMessage, signal: AbortSignal) {
    this.#request = request;
    this.#signal = signal;
    for (const event of EVENTS) request.on(event, this.#onEvent);
    // After an early answer the request emits no event, even if its connection closes.
    signal.addEventListener('abort', this.#onEvent);
  }

  /** Returns the next chunk, or undefined at the end. Rejects as {@link readBody}. */
  async next(): Promise<Buffer | undefined> {
    for (;;) {
      this.#signal.throwIfAborted();
      const chunk = this.#request.read() as Buffer | null;
      if (chunk !== null) return chunk;
      if (this.#request.complete) return undefined;
      if (this.#request.destroyed) throw new BadReview('the request body is incomplete');
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  close(): void {
    for (const event of EVENTS) this.#request.off(event, this.#onEvent);
    this.#signal.removeEventListener('abort', this.#onEvent);
  }

  readonly #onEvent = (): void => this.#wake();
}

function tooLargeError(maxBytes: number): BadReview {
  return new BadReview(`the request body is larger than ${maxBytes / 1024 / 1024} MiB`);
}
