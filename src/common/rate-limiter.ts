import { LRUCache } from 'lru-cache';

interface Bucket {
  available: number;
  updatedAt: number;
}

/** A cluster has fewer hosts that can reach the guard. */
const MAX_KEYS = 1_000;

/** Allows each key `burst` calls at once and then one per interval (a token bucket). */
export class RateLimiter {
  readonly #burst: number;
  readonly #intervalMs: number;
  readonly #buckets = new LRUCache<string, Bucket>({ max: MAX_KEYS });

  constructor(burst: number, intervalMs: number) {
    this.#burst = burst;
    this.#intervalMs = intervalMs;
  }

  /** Returns whether a call is allowed now, and counts it if so. A key can be the address of a client. */
  tryAcquire(key = ''): boolean {
    const now = performance.now();
    const { available, updatedAt } = this.#buckets.get(key) ?? { available: this.#burst, updatedAt: now };
    const refilled = Math.min(this.#burst, available + (now - updatedAt) / this.#intervalMs);
    const isAllowed = refilled >= 1;
    this.#buckets.set(key, { available: isAllowed ? refilled - 1 : refilled, updatedAt: now });
    return isAllowed;
  }
}
