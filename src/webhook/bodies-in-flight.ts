/** Stops reading a body. */
type GiveUp = () => void;

/**
 * Limits the memory of bodies that are arriving. Beyond the limit it gives up the body that has been arriving for the
 * longest time, because the API server sends a body immediately.
 */
export class BodiesInFlight {
  readonly #maxBytes: number;
  /** The bytes of each body, the oldest body first. */
  readonly #bodies = new Map<GiveUp, number>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Counts more bytes of a body, which `giveUp` identifies. Calls the `giveUp` of other bodies, or this one. */
  add(giveUp: GiveUp, bytes: number): void {
    this.#bodies.set(giveUp, (this.#bodies.get(giveUp) ?? 0) + bytes);
    this.#bytes += bytes;
    for (const oldest of this.#bodies.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.remove(oldest);
      oldest();
    }
  }

  /** May be called more than once. */
  remove(giveUp: GiveUp): void {
    this.#bytes -= this.#bodies.get(giveUp) ?? 0;
    this.#bodies.delete(giveUp);
  }
}
