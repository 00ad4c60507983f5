import { ApiUnreachable } from './errors.ts';

const LINE_FEED = 0x0a;

/** Splits a byte stream at line feeds and drops empty lines. */
export class LineSplitter {
  readonly #maxBytes: number;
  #rest: Buffer[] = [];
  #restLength = 0;

  /** @param maxBytes maximum length of a line */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Yields the lines that these bytes complete.
   *
   * @throws ApiUnreachable if a line is too long
   */
  *push(chunk: Buffer): Generator<string> {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      const line = Buffer.concat([...this.#rest, chunk.subarray(start, end)]).toString('utf8');
      this.#rest = [];
      this.#restLength = 0;
      start = end + 1;
      if (line !== '') yield line;
    }
    if (start === chunk.length) return;
    this.#restLength += chunk.length - start;
    if (this.#restLength > this.#maxBytes) throw new ApiUnreachable(`a line has more than ${this.#maxBytes} bytes`);
    this.#rest.push(chunk.subarray(start));
  }
}
