import type { Socket } from 'node:net';

/**
 * Limits the open connections. `server.maxConnections` would reject the API server while a client keeps
 * thousands of silent ones. A connection is useful once a whole request has arrived on it. Useful ones and
 * newcomers each keep up to half of the places.
 */
export class ConnectionLimiter {
  readonly #max: number;
  /** By the client's address and port, which a TLS socket shares with its TCP socket. Oldest first. */
  readonly #newcomers = new Map<string, Socket>();
  /** The same keys, ordered by the last request. */
  readonly #useful = new Map<string, Socket>();

  constructor(max: number) {
    this.#max = max;
  }

  add(socket: Socket): void {
    const key = keyOf(socket);
    this.#newcomers.set(key, socket);
    socket.once('close', () => {
      for (const sockets of [this.#newcomers, this.#useful])
        if (sockets.get(key) === socket) sockets.delete(key);
    });
    if (this.#newcomers.size + this.#useful.size <= this.#max) return;
    const sockets = this.#newcomers.size > this.#max / 2 ? this.#newcomers : this.#useful;
    for (const [oldestKey, oldest] of sockets) {
      sockets.delete(oldestKey);
      oldest.destroy();
      return;
    }
  }

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
