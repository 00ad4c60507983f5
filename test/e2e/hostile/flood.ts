import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import type { Attacker, Target } from './attacker.ts';

const MIB = 2 ** 20;
const TSX = fileURLToPath(new URL('../../../node_modules/tsx/dist/cli.mjs', import.meta.url));
const PROGRAM = fileURLToPath(new URL('flood-process.ts', import.meta.url));

/**
 * What each connection of a flood does, again and again:
 * - `requests`: sends a request, and the next one after the answer;
 * - `parts`: sends the bytes, and waits;
 * - `records`: sends a request in TLS records of one byte;
 * - `key updates`: sends TLS 1.3 key updates.
 *
 * It opens another connection when the guard has closed it.
 */
export type FloodKind = 'requests' | 'parts' | 'records' | 'key updates';

export interface Attack {
  readonly title: string;
  readonly kind: FloodKind;
  readonly connections: number;
  readonly bytes: Buffer;
  /** The port of the webhook by default. */
  readonly port?: number;
}

/** The input of a flood process. */
export interface FloodOrder extends Omit<Attack, 'title' | 'bytes'> {
  readonly target: Target;
  /** In base64. */
  readonly bytes: string;
}

/** An attack in a process of its own, so that the tests do not wait for it. */
export class Flood {
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess) {
    this.#process = process;
  }

  /** Returns when a tenth of the connections have sent something. A busy guard accepts the others slowly. */
  static async start(attacker: Attacker, attack: Attack): Promise<Flood> {
    const { kind, connections, bytes, port } = attack;
    const target = port === undefined ? attacker.target : { ...attacker.target, port };
    const order: FloodOrder = { target, kind, connections, bytes: bytes.toString('base64') };
    const process = spawn('node', [TSX, PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] });
    process.stdin?.write(`${JSON.stringify(order)}\n`);
    if (process.stdout !== null) await once(process.stdout, 'data');
    return new Flood(process);
  }

  /** Ends with the connections. */
  async stop(): Promise<void> {
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended;
  }
}

/** Bodies that cost much, in the size that the guard accepts, and larger ones. */
export function createReviewFloods(attacker: Attacker): readonly Attack[] {
  const entries = Array.from({ length: 20_000 }, (_, index) => [`k${index}`, 'v'.repeat(9)]);
  const largeAnnotation = { a: `\u00e9${'x'.repeat(1_900_000)}` };
  const emptyArrays = (count: number) => attacker.review({ padding: Array.from({ length: count }, () => []) });
  const reviews: readonly (readonly [title: string, connections: number, review: string])[] = [
    ['reviews with 20,000 annotations', 512, attacker.forgedReview({ annotations: Object.fromEntries(entries) })],
    ['reviews of 1.9 MB', 150, attacker.forgedReview({ annotations: largeAnnotation })],
    ['reviews of 4 MB that are empty arrays', 16, emptyArrays(1_300_000)],
    ['reviews of 8 MB', 64, emptyArrays(2_600_000)],
    ['reviews with another uid of a config in use', 64, attacker.forgedReview({ name: attacker.usedConfig })],
  ];
  return reviews.map(([title, connections, review]) => {
    return { title, kind: 'requests', connections, bytes: attacker.request(review) };
  });
}

/** Connections that announce a body of 1 MiB and send a quarter of it. */
export function createUnfinishedBodies(attacker: Attacker): Attack {
  const head = ['Content-Type: application/json', `Content-Length: ${MIB}`];
  const body = attacker.review({ padding: 'x'.repeat(MIB) }).slice(0, MIB / 4);
  const bytes = attacker.request(body, { head, target: '/validate?timeout=30s' });
  return { title: 'unfinished bodies', kind: 'parts', connections: 1_900, bytes };
}

/** Bytes whose TLS records cost more than their content. */
export function createRecordFloods(attacker: Attacker, metricsPort: number): readonly Attack[] {
  // Much larger than what the guard reads of it. More would only keep the attacker busy with encryption.
  const body = attacker.review({ padding: 'x'.repeat(16_384) });
  return [
    {
      title: 'bodies in TLS records of one byte',
      kind: 'records',
      connections: 30,
      bytes: attacker.request(body),
    },
    {
      title: 'bodies in TLS records of one byte to the metrics port',
      kind: 'records',
      connections: 50,
      bytes: attacker.request(body, { target: '/metrics' }),
      port: metricsPort,
    },
    { title: 'TLS 1.3 key updates', kind: 'key updates', connections: 300, bytes: Buffer.alloc(0) },
  ];
}
