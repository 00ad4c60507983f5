import { LRUCache } from 'lru-cache';
import { RateLimiter } from '../common/rate-limiter.ts';

/** A cluster has fewer hosts that can reach the guard. */
const MAX_ADDRESSES = 1_000;

/** A rate limit for each client address, so that a client can only use up its own. */
export class AddressLimiter {
  readonly #limiters = new LRUCache<string, RateLimiter>({ max: MAX_ADDRESSES });
  readonly #createLimiter: () => RateLimiter;

  /** As for {@link RateLimiter}. */
  constructor(...limit: ConstructorParameters<typeof RateLimiter>) {
    this.#createLimiter = () => new RateLimiter(...limit);
  }

  /** Returns whether the address may do something now, and counts it if so. */
  tryAcquire(address: string): boolean {
    const limiter = this.#limiters.get(address) ?? this.#createLimiter();
    this.#limiters.set(address, limiter);
    return limiter.tryAcquire();
  }
}
