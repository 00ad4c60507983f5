const INITIAL_CAPACITY = 64 * 1024;

/** A queue of bytes in one reused buffer. Concatenating chunks would allocate several times a list's size. */
export class ByteQueue {
  #buffer = Buffer.allocUnsafeSlow(INITIAL_CAPACITY);
  #start = 0;
  #end = 0;

  get length(): number {
    return this.#end - this.#start;
  }

  /** All queued bytes, valid until the next {@link push}. */
  get bytes(): Buffer {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  push(chunk: Buffer): void {
    if (this.#end + chunk.length > this.#buffer.length) this.#makeSpace(this.length + chunk.length);
    this.#end += chunk.copy(this.#buffer, this.#end);
  }

  consume(count: number): void {
    this.#start += count;
    if (this.#start === this.#end) [this.#start, this.#end] = [0, 0];
  }

  #makeSpace(needed: number): void {
    const { bytes } = this;
    if (needed > this.#buffer.length) {
      this.#buffer = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length));
    }
    // Within the same buffer the ranges can overlap, which Buffer.copy allows.
    bytes.copy(this.#buffer);
    [this.#start, this.#end] = [0, bytes.length];
  }
}
