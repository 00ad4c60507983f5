/** Allows `burst` calls at once and then one per interval (a token bucket). */
export class RateLimiter {
  readonly #burst: number;
  readonly #intervalMs: number;
  readonly #now: () => number;
  #available: number;
  #updatedAt: number;

  /** @param now returns milliseconds of a monotonic clock */
  constructor(burst: number, intervalMs: number, now: () => number = () => performance.now()) {
    this.#burst = burst;
    this.#intervalMs = intervalMs;
    this.#now = now;
    this.#available = burst;
    this.#updatedAt = now();
  }

  /** Returns whether a call is allowed now, and counts it if so. */
  tryAcquire(): boolean {
    const now = this.#now();
    const regained = (now - this.#updatedAt) / this.#intervalMs;
    this.#available = Math.min(this.#burst, this.#available + regained);
    this.#updatedAt = now;
    if (this.#available < 1) return false;
    this.#available -= 1;
    return true;
  }
}
