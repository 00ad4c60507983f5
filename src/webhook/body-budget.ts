import { waitOrAbort } from '../kube/wait.ts';

export interface BodyBuffer {
  /** Grows the buffer to this many bytes when the budget allows it. Rejects with the signal's reason. */
  readonly reserve: (bytes: number, signal: AbortSignal) => Promise<Buffer>;
  /** Returns the memory to the budget. May be called more than once. */
  readonly release: () => void;
  readonly isWaiting: () => boolean;
}

interface OpenBody {
  buffer: Buffer;
  arrivedBytes: number;
  activeAt: number;
  isWaiting: boolean;
  readonly evict: () => void;
}

/** The API server sends a body immediately. */
const STALLED_MS = 1_000;
const EMPTY = Buffer.alloc(0);
/** Sizes are this or a larger power of two, so that a buffer fits other bodies as well. */
const MIN_BUFFER_BYTES = 1_024;
/** Memory that is kept for later bodies, and for how long. */
const MAX_POOL_BYTES = 32 * 1024 * 1024;
const POOL_TTL_MS = 5_000;

/**
 * Limits the memory of all arriving bodies. Beyond the limit they wait, and stalled bodies are evicted.
 *
 * Only arrived bytes count, so a client that announces megabytes takes almost nothing. The body that began first never
 * waits, so bodies with a part each cannot wait for each other.
 */
export class BodyBudget {
  readonly #maxBytes: number;
  readonly #smallBytes: number;
  readonly #bodies = new Set<OpenBody>();
  readonly #pool = new BufferPool();
  #bufferedBytes = 0;
  #waiting: (() => void)[] = [];

  /** @param smallBytes a body of at most this size never waits */
  constructor(maxBytes: number, smallBytes: number) {
    this.#maxBytes = maxBytes;
    this.#smallBytes = smallBytes;
  }

  /** Opens a buffer. `evict` may be called more than once, and should lead to its release. */
  open(evict: () => void): BodyBuffer {
    const body: OpenBody = { buffer: EMPTY, arrivedBytes: 0, activeAt: performance.now(), isWaiting: false, evict };
    this.#bodies.add(body);
    return {
      reserve: async (bytes, signal) => await this.#reserve(body, bytes, signal),
      release: () => this.#release(body),
      isWaiting: () => body.isWaiting,
    };
  }

  async #reserve(body: OpenBody, bytes: number, signal: AbortSignal): Promise<Buffer> {
    body.isWaiting = true;
    while (!this.#fits(body, bytes)) await this.#waitForRelease(signal);
    body.isWaiting = false;
    this.#bufferedBytes += bytes - body.arrivedBytes;
    body.arrivedBytes = bytes;
    body.activeAt = performance.now();
    if (bytes > body.buffer.length) {
      const larger = this.#pool.take(bytes);
      body.buffer.copy(larger);
      this.#pool.give(body.buffer);
      body.buffer = larger;
    }
    return body.buffer;
  }

  #release(body: OpenBody): void {
    this.#bufferedBytes -= body.arrivedBytes;
    this.#pool.give(body.buffer);
    this.#bodies.delete(body);
    body.arrivedBytes = 0;
    body.buffer = EMPTY;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  #fits(body: OpenBody, bytes: number): boolean {
    const [first] = this.#bodies;
    if (body === first || bytes <= this.#smallBytes) return true;
    return this.#bufferedBytes - body.arrivedBytes + bytes <= this.#maxBytes;
  }

  /** Waits until a body is released, and evicts stalled bodies meanwhile. */
  async #waitForRelease(signal: AbortSignal): Promise<void> {
    const released = new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
    });
    const evictStalled = setInterval(() => {
      for (const { activeAt, isWaiting, evict } of this.#bodies) {
        if (!isWaiting && performance.now() - activeAt > STALLED_MS) evict();
      }
    }, STALLED_MS / 4);
    try {
      await waitOrAbort(released, signal);
    } finally {
      clearInterval(evictStalled);
    }
  }
}

/**
 * Keeps unused buffers by size. Otherwise the megabyte of each review causes a full garbage collection every few
 * reviews, which takes longer than the answers (npm run bench -- --only webhook).
 */
class BufferPool {
  readonly #buffers = new Map<number, Buffer[]>();
  #bytes = 0;
  #expiry: NodeJS.Timeout | undefined;

  /** Returns a buffer of at least this many bytes, with any content. */
  take(minBytes: number): Buffer {
    const size = Math.max(MIN_BUFFER_BYTES, 2 ** Math.ceil(Math.log2(minBytes)));
    const buffer = this.#buffers.get(size)?.pop();
    if (buffer === undefined) return Buffer.allocUnsafeSlow(size);
    this.#bytes -= size;
    return buffer;
  }

  give(buffer: Buffer): void {
    if (buffer.length === 0 || this.#bytes + buffer.length > MAX_POOL_BYTES) return;
    this.#bytes += buffer.length;
    const sameSize = this.#buffers.get(buffer.length) ?? [];
    sameSize.push(buffer);
    this.#buffers.set(buffer.length, sameSize);
    this.#expiry ??= setTimeout(() => this.#clear(), POOL_TTL_MS).unref();
    this.#expiry.refresh();
  }

  #clear(): void {
    this.#buffers.clear();
    this.#bytes = 0;
    this.#expiry = undefined;
  }
}
