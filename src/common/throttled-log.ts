import type { Logger } from 'pino';
import { RateLimiter } from './rate-limiter.ts';

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
