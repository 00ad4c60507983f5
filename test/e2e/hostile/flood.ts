import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

import { renderedName } from '../support/objects.ts';
import type { Attacker } from './attacker.ts';

const MIB = 2 ** 20;
const PROGRAM = new URL('flood-worker.ts', import.meta.url).href;
/** Node runs no TypeScript in a thread. */
const START = `import('tsx/esm/api').then(({ tsImport }) => tsImport('${PROGRAM}', '${PROGRAM}'))`;

export interface Attack {
  readonly title: string;
  /**
   * What each connection does. When the guard has closed it, it opens another one.
   * - `requests`: sends a request, and the next one after the answer;
   * - `parts`: sends the bytes, and waits.
   */
  readonly kind: 'requests' | 'parts';
  readonly connections: number;
  readonly bytes: Buffer;
}

/**
 * Starts an attack in a thread of its own, so that the tests do not wait for it. Returns when a tenth of the
 * connections have sent something: a busy guard accepts the others slowly. The connections end with the thread.
 */
export async function startFlood({ target }: Attacker, attack: Attack): Promise<Worker> {
  const worker = new Worker(START, { eval: true, workerData: { ...attack, target } });
  await once(worker, 'message');
  return worker;
}

/** Bodies that cost much, in the size that the guard accepts, larger ones, and bodies that do not end. */
export function createAttacks(attacker: Attacker): readonly Attack[] {
  /** A review of a config that does not exist, or of a used config with another uid. */
  const forgeReview = (name: string, annotations = {}) =>
    attacker.review({
      name,
      oldObject: { metadata: { name, uid: randomUUID(), annotations }, spec: {} },
      dryRun: false,
    });
  const entries = Array.from({ length: 20_000 }, (_, index) => [`k${index}`, 'v'.repeat(9)]);
  const largeAnnotation = { a: `\u00e9${'x'.repeat(1_900_000)}` };
  const emptyArrays = attacker.review({ padding: Array.from({ length: 1_300_000 }, () => []) });
  const reviews: readonly (readonly [title: string, connections: number, review: string])[] = [
    ['reviews with 20,000 annotations', 512, forgeReview(renderedName(), Object.fromEntries(entries))],
    ['reviews of 1.9 MB', 150, forgeReview(renderedName(), largeAnnotation)],
    ['reviews of 4 MB that are empty arrays', 16, emptyArrays],
    ['reviews with another uid of a config in use', 64, forgeReview(attacker.usedConfig)],
  ];
  const head = ['Content-Type: application/json', `Content-Length: ${MIB}`];
  const body = attacker.review({ padding: 'x'.repeat(MIB) }).slice(0, MIB / 4);
  const unfinished = attacker.request(body, { head, target: '/validate?timeout=30s' });
  return [
    ...reviews.map(([title, connections, review]) => {
      return { title, kind: 'requests', connections, bytes: attacker.request(review) } as const;
    }),
    { title: 'unfinished bodies', kind: 'parts', connections: 1_900, bytes: unfinished },
  ];
}
