import type { Socket } from 'node:net';

/**
 * Bounds the number of open connections: beyond it, one that has been of no use is cut off, the oldest first.
 *
 * A bound that turned newcomers away (`server.maxConnections`) would help whoever opens thousands of connections and says nothing:
 * the API server would be the one turned away. A connection is of use when a whole request has come over it. Neither kind can
 * push out the other beyond half of the places: not the silent ones those of the API server, and not idle ones that somebody
 * keeps in reserve the next one of the API server.
 */
export class ConnectionLimiter {
  readonly #max: number;
  /** By the client's address and port, the oldest first. A TLS socket has the same two as the socket below it. */
  readonly #newcomers = new Map<string, Socket>();
  /** The same, the one that was of use longest ago first. */
  readonly #useful = new Map<string, Socket>();

  constructor(max: number) {
    this.#max = max;
  }

  /** A client has connected. */
  add(socket: Socket): void {
    const key = keyOf(socket);
    this.#newcomers.set(key, socket);
    socket.once('close', () => {
      for (const kind of [this.#newcomers, this.#useful]) if (kind.get(key) === socket) kind.delete(key);
    });
    if (this.#newcomers.size + this.#useful.size <= this.#max) return;
    const kind = this.#newcomers.size > this.#max / 2 ? this.#newcomers : this.#useful;
    for (const [first, one] of kind) {
      kind.delete(first);
      one.destroy();
      return;
    }
  }

  /** A whole request has come over the connection. */
  markUseful(socket: Socket): void {
    const key = keyOf(socket);
    const open = this.#newcomers.get(key) ?? this.#useful.get(key);
    if (open === undefined) return;
    this.#newcomers.delete(key);
    this.#useful.delete(key);
    this.#useful.set(key, open);
  }
}

function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
