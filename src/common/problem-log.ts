import type { Logger } from 'pino';

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
