import type { Logger } from 'pino';

const INTERVAL_MS = 10_000;

/** Logs warnings that any client can cause: the first one, then one for each 10 s with the number of the others. */
export class ThrottledLog {
  readonly #log: Logger;
  #lastAt = Number.NEGATIVE_INFINITY;
  #suppressed = 0;

  constructor(log: Logger) {
    this.#log = log;
  }

  warn(text: string, fields: object): void {
    if (performance.now() - this.#lastAt < INTERVAL_MS) {
      this.#suppressed += 1;
      return;
    }
    this.#log.warn(this.#suppressed === 0 ? fields : { ...fields, suppressed: this.#suppressed }, text);
    this.#lastAt = performance.now();
    this.#suppressed = 0;
  }
}
