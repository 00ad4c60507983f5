/** Decrypting and copying them takes about a millisecond. */
const BYTES_PER_TURN = 512 * 1024;
/** Node reads up to 64 KiB of a connection at once. */
const MAX_READS_PER_TURN = BYTES_PER_TURN / (64 * 1024);

/**
 * Limits the bytes of bodies that are read in one turn of the event loop. Otherwise Node reads megabytes of each
 * connection before it does anything else.
 */
export class ReadPacer {
  #bytesLeft = BYTES_PER_TURN;
  readonly #waiting: (() => void)[] = [];
  #isTurnScheduled = false;

  /** Returns when the connection that has just read these bytes may read more. */
  async wait(bytes: number): Promise<void> {
    this.#bytesLeft -= bytes;
    if (!this.#isTurnScheduled) {
      this.#isTurnScheduled = true;
      setImmediate(this.#startTurn);
    }
    if (this.#bytesLeft > 0 && this.#waiting.length === 0) return;
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  readonly #startTurn = (): void => {
    this.#bytesLeft = BYTES_PER_TURN;
    for (const resume of this.#waiting.splice(0, MAX_READS_PER_TURN)) resume();
    this.#isTurnScheduled = this.#waiting.length > 0;
    if (this.#isTurnScheduled) setImmediate(this.#startTurn);
  };
}
