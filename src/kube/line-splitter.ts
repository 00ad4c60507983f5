/** A line grew beyond what the sender can mean: the stream is not what it should be. */
class LineTooLong extends Error {
  override readonly name = 'LineTooLong';
}

/** Splits a byte stream at line breaks, whatever the chunks; empty lines are left out. Keeps at most `max` bytes. */
export class LineSplitter {
  readonly #max: number;
  #rest: Buffer[] = [];
  #restLength = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * The lines that are complete with these bytes.
   *
   * @throws LineTooLong
   */
  *push(chunk: Buffer): Generator<string> {
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, from)) {
      const line = this.#rest.length === 0 ? chunk.subarray(from, end) : this.#joined(chunk.subarray(from, end));
      from = end + 1;
      if (line.length > 0) yield line.toString('utf8');
    }
    if (from < chunk.length) {
      this.#restLength += chunk.length - from;
      if (this.#restLength > this.#max) throw new LineTooLong(`a line has more than ${this.#max} bytes`);
      this.#rest.push(chunk.subarray(from));
    }
  }

  #joined(last: Buffer): Buffer {
    const line = Buffer.concat([...this.#rest, last]);
    this.#rest = [];
    this.#restLength = 0;
    return line;
  }
}
