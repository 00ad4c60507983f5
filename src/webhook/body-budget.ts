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
  lastActiveAt: number;
  isWaiting: boolean;
  readonly evict: () => void;
}

/** The API server sends a body immediately. */
const STALLED_MS = 1_000;
const EMPTY = Buffer.alloc(0);
/** Sizes are powers of two, so that a buffer fits other bodies. */
const MIN_BUFFER_BYTES = 1_024;
const MAX_CACHED_BYTES = 32 * 1024 * 1024;
const CACHE_TTL_MS = 5_000;

/**
 * Limits the memory of all arriving bodies. Beyond the limit they wait, and stalled bodies are evicted. Only
 * arrived bytes count, so announcing megabytes costs almost nothing. The oldest body never waits, so bodies
 * cannot wait for each other.
 */
export class BodyBudget {
  readonly #maxBytes: number;
  readonly #smallBytes: number;
  readonly #bodies = new Set<OpenBody>();
  readonly #cache = new BufferCache();
  #bufferedBytes = 0;
  #waiting: (() => void)[] = [];

  constructor(maxBytes: number, smallBytes: number) {
    this.#maxBytes = maxBytes;
    this.#smallBytes = smallBytes;
  }

  /** `evict` may be called more than once, and must lead to the release. */
  open(evict: () => void): BodyBuffer {
    const body: OpenBody = {
      buffer: EMPTY,
      arrivedBytes: 0,
      lastActiveAt: performance.now(),
      isWaiting: false,
      evict,
    };
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
    body.lastActiveAt = performance.now();
    if (bytes > body.buffer.length) {
      const larger = this.#cache.take(bytes);
      body.buffer.copy(larger);
      this.#cache.put(body.buffer);
      body.buffer = larger;
    }
    return body.buffer;
  }

  #release(body: OpenBody): void {
    this.#bufferedBytes -= body.arrivedBytes;
    this.#cache.put(body.buffer);
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

  /** Waits for a release, and evicts stalled bodies meanwhile. */
  async #waitForRelease(signal: AbortSignal): Promise<void> {
    const released = new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
    });
    const evictStalled = setInterval(() => {
      for (const { lastActiveAt, isWaiting, evict } of this.#bodies) {
        if (!isWaiting && performance.now() - lastActiveAt > STALLED_MS) evict();
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
 * Reuses buffers by size. New ones for each megabyte would cause frequent full garbage collections, which
 * take longer than the answers (npm run bench -- --only webhook).
 */
class BufferCache {
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

  put(buffer: Buffer): void {
    if (buffer.length === 0 || this.#bytes + buffer.length > MAX_CACHED_BYTES) return;
    this.#bytes += buffer.length;
    const sameSize = this.#buffers.get(buffer.length) ?? [];
    sameSize.push(buffer);
    this.#buffers.set(buffer.length, sameSize);
    this.#expiry ??= setTimeout(() => this.#clear(), CACHE_TTL_MS).unref();
    this.#expiry.refresh();
  }

  #clear(): void {
    this.#buffers.clear();
    this.#bytes = 0;
    this.#expiry = undefined;
  }
}
