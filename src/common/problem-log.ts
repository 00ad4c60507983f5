import type { Logger } from 'pino';
import { LRUCache } from 'lru-cache';

/** Logs a problem once, and again only after it has changed or was solved. */
export class ProblemLog {
  readonly #log: Logger;
  readonly #solvedText: string | undefined;
  #current: string | undefined;

  /** @param solvedText logged when a problem is solved; undefined logs nothing */
  constructor(log: Logger, solvedText?: string) {
    this.#log = log;
    this.#solvedText = solvedText;
  }

  warn(text: string, fields: object = {}): void {
    if (text === this.#current) return;
    this.#current = text;
    this.#log.warn(fields, text);
  }

  clear(): void {
    if (this.#current !== undefined && this.#solvedText !== undefined) this.#log.info(this.#solvedText);
    this.#current = undefined;
  }
}

const INTERVAL_MS = 10_000;

/** Logs warnings that any client can cause: of each text one in 10 s, with the number of those since the last one. */
export class ThrottledLog {
  readonly #log: Logger;
  readonly #limiter = new RateLimiter(1, INTERVAL_MS);
  readonly #suppressed = new Map<string, number>();

  constructor(log: Logger) {
    this.#log = log;
  }

  warn(text: string, fields: object): void {
    const suppressed = this.#suppressed.get(text) ?? 0;
    const isLogged = this.#limiter.tryAcquire(text);
    if (isLogged) this.#log.warn(suppressed === 0 ? fields : { ...fields, suppressed }, text);
    this.#suppressed.set(text, isLogged ? 0 : suppressed + 1);
  }
}

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
