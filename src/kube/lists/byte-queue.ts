const FIRST_CAPACITY = 64 * 1024;

/**
 * Bytes that arrive in pieces and are read in others, in one place that is used again and again: to join each piece with the rest of
 * the one before would allocate several times the list, which the garbage collector then has to find.
 */
export class ByteQueue {
  #space = Buffer.allocUnsafeSlow(FIRST_CAPACITY);
  #from = 0;
  #to = 0;

  get length(): number {
    return this.#to - this.#from;
  }

  /** All of them; valid until the next {@link push}. */
  get bytes(): Buffer {
    return this.#space.subarray(this.#from, this.#to);
  }

  /** Copies a piece to the end. */
  push(piece: Buffer): void {
    if (this.#to + piece.length > this.#space.length) this.#makeRoom(this.length + piece.length);
    this.#to += piece.copy(this.#space, this.#to);
  }

  /** So many from the beginning have been read. */
  consume(count: number): void {
    this.#from += count;
    if (this.#from === this.#to) [this.#from, this.#to] = [0, 0];
  }

  #makeRoom(needed: number): void {
    const { bytes } = this;
    if (needed > this.#space.length) {
      this.#space = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#space.length));
      bytes.copy(this.#space);
    } else {
      // Moves within the same memory; memmove allows the overlap.
      bytes.copy(this.#space, 0);
    }
    [this.#from, this.#to] = [0, bytes.length];
  }
}
