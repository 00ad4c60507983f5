import { waitOrAbort } from '../kube/wait.ts';

export interface BodyBuffer {
  /**
   * Adds a chunk when the budget allows it, and returns the body so far. It is valid until the release. Rejects
   * with the signal's reason.
   */
  readonly append: (chunk: Buffer, signal: AbortSignal) => Promise<Buffer>;
  /** The first bytes of the body, even if it still waits for memory. */
  readonly start: () => Buffer;
  /** Returns the memory to the budget. May be called more than once. */
  readonly release: () => void;
  readonly isWaiting: () => boolean;
}

/** The bodies of trusted connections, small bodies of others, and large bodies of others. */
type PoolName = 'trusted' | 'small' | 'large';

/** Bodies that share memory. */
interface Pool {
  bytes: number;
  /** Oldest first. */
  readonly bodies: Set<OpenBody>;
  /** The bodies that wait for memory, the longest waiting first. */
  readonly waiting: Map<OpenBody, { readonly size: number; readonly grant: () => void }>;
  evictionTimer?: NodeJS.Timeout | undefined;
}

interface OpenBody {
  readonly pool: Pool;
  /** The bytes that the pool counts. The buffer grows later. */
  reservedBytes: number;
  buffer: Buffer;
  length: number;
  start: Buffer;
  lastActiveAt: number;
  readonly evict: () => void;
}

/** The API server sends a body immediately. */
const STALLED_MS = 1_000;
const EMPTY = Buffer.alloc(0);
/** Sizes are powers of two, so that a buffer fits other bodies. */
const MIN_BUFFER_BYTES = 1_024;
/** Enough for the uid of a review. */
const START_BYTES = 512;
const MAX_CACHED_BYTES = 8 * 1024 * 1024;
const CACHE_TTL_MS = 5_000;

/**
 * Limits the memory of all arriving bodies. Beyond the limit they wait, and stalled bodies are evicted. A buffer
 * grows with its body, so announcing megabytes costs almost nothing.
 *
 * Each pool has an equal share of the memory, so a flood of one kind delays no other. The oldest body of a pool
 * never waits, so bodies cannot wait for each other.
 */
export class BodyBudget {
  readonly #maxPoolBytes: number;
  readonly #smallBytes: number;
  readonly #pools: Readonly<Record<PoolName, Pool>> = {
    trusted: createPool(),
    small: createPool(),
    large: createPool(),
  };
  readonly #cache = new BufferCache();

  constructor(maxBytes: number, smallBytes: number) {
    this.#maxPoolBytes = maxBytes / Object.keys(this.#pools).length;
    this.#smallBytes = smallBytes;
  }

  /**
   * @param announcedBytes the Content-Length; NaN counts as large
   * @param evict may be called more than once, and must lead to the release
   */
  open(isTrusted: boolean, announcedBytes: number, evict: () => void): BodyBuffer {
    const pool = this.#pools[isTrusted ? 'trusted' : announcedBytes <= this.#smallBytes ? 'small' : 'large'];
    const lastActiveAt = performance.now();
    const body: OpenBody = {
      pool,
      reservedBytes: 0,
      buffer: EMPTY,
      length: 0,
      start: EMPTY,
      lastActiveAt,
      evict,
    };
    pool.bodies.add(body);
    return {
      append: async (chunk, signal) => await this.#append(body, chunk, signal),
      start: () => body.start,
      release: () => this.#release(body),
      isWaiting: () => pool.waiting.has(body),
    };
  }

  async #append(body: OpenBody, chunk: Buffer, signal: AbortSignal): Promise<Buffer> {
    if (body.length === 0) body.start = Buffer.from(chunk.subarray(0, START_BYTES));
    const length = body.length + chunk.length;
    if (length > body.buffer.length) await this.#grow(body, toBufferSize(length), signal);
    chunk.copy(body.buffer, body.length);
    body.length = length;
    body.lastActiveAt = performance.now();
    return body.buffer.subarray(0, length);
  }

  async #grow(body: OpenBody, size: number, signal: AbortSignal): Promise<void> {
    if (this.#fits(body, size)) reserve(body, size);
    else await this.#waitForMemory(body, size, signal);
    const larger = this.#cache.take(size);
    body.buffer.copy(larger, 0, 0, body.length);
    this.#cache.put(body.buffer);
    body.buffer = larger;
  }

  /** Returns when the pool has counted the new size. */
  async #waitForMemory(body: OpenBody, size: number, signal: AbortSignal): Promise<void> {
    const { pool } = body;
    const granted = new Promise<void>((resolve) => {
      pool.waiting.set(body, { size, grant: resolve });
    });
    pool.evictionTimer ??= setInterval(() => evictStalled(pool), STALLED_MS / 4).unref();
    await waitOrAbort(granted, signal);
  }

  #release(body: OpenBody): void {
    const { pool } = body;
    if (!pool.bodies.delete(body)) return;
    pool.waiting.delete(body);
    reserve(body, 0);
    this.#cache.put(body.buffer);
    body.buffer = EMPTY;
    const [oldest] = pool.bodies;
    if (oldest !== undefined) this.#grantIfFits(oldest);
    for (const waiting of pool.waiting.keys()) if (!this.#grantIfFits(waiting)) return;
  }

  #grantIfFits(body: OpenBody): boolean {
    const { pool } = body;
    const request = pool.waiting.get(body);
    if (request === undefined || !this.#fits(body, request.size)) return false;
    pool.waiting.delete(body);
    reserve(body, request.size);
    request.grant();
    return true;
  }

  #fits(body: OpenBody, size: number): boolean {
    const { pool } = body;
    const [oldest] = pool.bodies;
    return body === oldest || pool.bytes - body.reservedBytes + size <= this.#maxPoolBytes;
  }
}

function reserve(body: OpenBody, bytes: number): void {
  body.pool.bytes += bytes - body.reservedBytes;
  body.reservedBytes = bytes;
}

function createPool(): Pool {
  return { bytes: 0, bodies: new Set(), waiting: new Map() };
}

function evictStalled(pool: Pool): void {
  if (pool.waiting.size === 0) {
    clearInterval(pool.evictionTimer);
    pool.evictionTimer = undefined;
    return;
  }
  for (const body of pool.bodies) {
    const isStalled = performance.now() - body.lastActiveAt > STALLED_MS;
    if (isStalled && !pool.waiting.has(body)) body.evict();
  }
}

function toBufferSize(minBytes: number): number {
  return Math.max(MIN_BUFFER_BYTES, 2 ** Math.ceil(Math.log2(minBytes)));
}

/**
 * Reuses buffers by size. New ones for each megabyte would cause frequent full garbage collections, which
 * take longer than the answers (npm run bench -- --only webhook).
 */
class BufferCache {
  readonly #buffers = new Map<number, Buffer[]>();
  #bytes = 0;
  #expiry: NodeJS.Timeout | undefined;

  /** Returns a buffer of this size, with any content. */
  take(size: number): Buffer {
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
