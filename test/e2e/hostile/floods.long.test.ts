import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, expect, test } from 'vitest';
import { memoryOf, resetPeak } from '../../../build/bench/process-figures.ts';
import { reviewBody } from '../../support/review.ts';
import { PATHS, renderedName } from '../support/objects.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { probeDuring } from '../support/prober.ts';
import { sharedGuardedCluster } from '../support/guarded-cluster.ts';

/** Deletions during a flood. Each may wait for 5 s, and they are sent without waiting for each other. */
const FLOODED_PROBES = 80;
const MIB = 2 ** 20;
/** A credential that the guard must never log. */
const SECRET = 'sha256~this-is-a-token-of-somebody';
const WORKER = new URL('flood-worker.ts', import.meta.url).href;
/** Node runs no TypeScript in a thread. */
const START = `import('tsx/esm/api').then(({ tsImport }) => tsImport('${WORKER}', '${WORKER}'))`;

const deployment = await readFile(join(MANIFESTS, 'base', 'deployment.yaml'), 'utf8');
const limitMiB = Number(/limits:\s+memory: (\d+)Mi/.exec(deployment)?.[1]);
const { guard, cluster } = await sharedGuardedCluster();
const used = await cluster.config();
await cluster.node({ currentConfig: used });
const oldObject = await cluster.admin.find(`${PATHS.configs}/${used}`);

afterAll(async () => {
  const log = await readFile(guard.log, 'utf8');
  expect(log).not.toMatch(/"stack"|^\s+at .+:\d+/m);
  expect(log).not.toContain(SECRET);
  expect((await fetch(`${guard.healthUrl}/readyz`)).ok).toBe(true);
});

/** The review as the API server would send it of the config in use, except for some fields. */
function createReview(changes: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify(reviewBody({ name: used, oldObject, dryRun: true, ...changes }));
}

/** A review of a config that does not exist, or of a used config with another uid. */
function forgeReview(name: string, annotations = {}): string {
  return createReview({ name, oldObject: { metadata: { name, uid: randomUUID(), annotations } }, dryRun: false });
}

function createRequest(body: string, length = Buffer.byteLength(body), timeout = '5s'): Buffer {
  const lines = [
    `POST /validate?timeout=${timeout} HTTP/1.1`,
    'Host: guard',
    `Authorization: Bearer ${SECRET}`,
    'Content-Type: application/json',
    `Content-Length: ${length}`,
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

const manyAnnotations = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, 'v'.repeat(9)]));
const largeAnnotation = { a: `\u00e9${'x'.repeat(1_900_000)}` };
const emptyArrays = createReview({ padding: Array.from({ length: 1_300_000 }, () => []) });
const unfinished = createReview({ padding: 'x'.repeat(MIB) }).slice(0, MIB / 4);

// Bodies that cost much, in the size that the guard accepts, larger ones, and bodies that do not end. A connection that
// `repeats` sends the next request after each answer. They take all processor time for minutes.
test.each<[title: string, connections: number, bytes: Buffer, repeats: boolean]>([
  ['reviews with 20,000 annotations', 512, createRequest(forgeReview(renderedName(), manyAnnotations)), true],
  ['reviews of 1.9 MB', 150, createRequest(forgeReview(renderedName(), largeAnnotation)), true],
  ['reviews of 4 MB that are empty arrays', 16, createRequest(emptyArrays), true],
  ['reviews with another uid of a config in use', 64, createRequest(forgeReview(used)), true],
  ['unfinished bodies', 1_900, createRequest(unfinished, MIB, '30s'), false],
])(
  'answers no deletion wrongly during %s over %i connections, and each one rightly afterwards',
  async (_title, connections, bytes, repeats) => {
    const { pid } = guard;
    await resetPeak(pid);
    const { wrongAnswers } = await probeDuring(cluster, async (prober) => {
      const target = { host: '127.0.0.1', port: guard.ports.securePort, ca: guard.ca };
      // In a thread of its own, so that the tests do not wait for it. The connections end with the thread.
      const flood = new Worker(START, { eval: true, workerData: { target, connections, bytes, repeats } });
      // A tenth of the connections have sent something: a busy guard accepts the others slowly.
      await once(flood, 'message');
      await prober.awaitMore(FLOODED_PROBES);
      await flood.terminate();
      await prober.awaitRightAnswers(5);
    });
    const { peak } = await memoryOf(pid);
    expect(wrongAnswers).toEqual([]);
    expect({ isRunning: guard.isRunning, pid: guard.pid }).toEqual({ isRunning: true, pid });
    expect((peak * 1e6) / MIB).toBeLessThan(limitMiB);
  },
);
