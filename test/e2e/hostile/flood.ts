import type { TLSSocket } from 'node:tls';

import type { Attacker } from './attacker.ts';

/** Sends requests over many connections: over each one the next request when the last one was answered. */
export class Flood {
  answers = 0;
  readonly #attacker: Attacker;
  readonly #createRequest: () => Buffer;
  readonly #sockets = new Set<TLSSocket>();
  #isRunning = true;

  private constructor(attacker: Attacker, createRequest: () => Buffer) {
    this.#attacker = attacker;
    this.#createRequest = createRequest;
  }

  static async start(
    attacker: Attacker,
    connections: number,
    createRequest: () => Buffer,
  ): Promise<Flood> {
    const flood = new Flood(attacker, createRequest);
    const sockets: TLSSocket[] = [];
    for (let index = 0; index < connections; index += 1) sockets.push(await attacker.connect());
    for (const socket of sockets) flood.#send(socket);
    return flood;
  }

  stop(): void {
    this.#isRunning = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  #send(socket: TLSSocket): void {
    this.#sockets.add(socket);
    socket.on('data', (chunk: Buffer) => {
      if (!chunk.includes('AdmissionReview')) return;
      this.answers += 1;
      socket.write(this.#createRequest());
    });
    socket.on('close', () => {
      this.#sockets.delete(socket);
      // The guard may close a connection. Then the attacker opens another one.
      if (this.#isRunning) void this.#attacker.connect().then(this.#send.bind(this), () => undefined);
    });
    socket.write(this.#createRequest());
  }
}
