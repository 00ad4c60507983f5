import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { Session } from 'node:inspector/promises';
import { expect, onTestFinished, test } from 'vitest';
import { memoryLog } from '../support/log.ts';
import { ServingCertificate } from '../../src/certificates/key-pair.ts';
import { startGuard } from '../../src/guard/guard.ts';
import { operatorAnnotations, roleLabels } from '../support/operator-objects.ts';
import { reviewBody } from '../support/review.ts';
import { startTestCluster } from '../support/test-cluster.ts';
import { testTls } from '../support/tls.ts';

const SOURCE = new URL('../../src/', import.meta.url).pathname;
const LONG_AGO = '2026-01-01T00:00:00Z';
const USED = `rendered-worker-${'a'.repeat(32)}`;
const UNUSED = `rendered-worker-${'b'.repeat(32)}`;
/** A reader opens at most so many files to follow one deletion from the socket to the log. */
const MAX_FILES = 26;
/** A real API server sends the nodes in protobuf. That of this test sends JSON. */
const NOT_SEEN = 'kube/lists/protobuf-list-parser.ts';

/** A guard of a cluster with a config in use and an unused one. */
async function startGuardedCluster() {
  const cluster = await startTestCluster();
  for (const name of [USED, UNUSED]) {
    cluster.create('machineconfigs', { metadata: { name, uid: name, creationTimestamp: LONG_AGO } });
  }
  const labels = roleLabels('worker');
  const annotations = operatorAnnotations({ currentConfig: USED });
  cluster.create('nodes', { metadata: { name: 'w0', labels, annotations } });
  const configuration = { name: USED };
  const spec = { configuration, nodeSelector: { matchLabels: labels } };
  cluster.create('machineconfigpools', { metadata: { name: 'worker' }, spec, status: { configuration } });
  // Otherwise, code of the cluster in this process would count.
  cluster.faults.intercept(({ path }) => (path.endsWith('/events') ? { status: 201, body: {} } : 'pass'));
  const { ca, leaf } = await testTls();
  const { log, messages } = memoryLog();
  const guard = await startGuard({
    api: cluster.connect(),
    certificate: new ServingCertificate(await leaf()),
    log,
    bindAddress: '127.0.0.1',
    securePort: 0,
    healthPort: 0,
    shutdownDelayMs: 0,
  });
  onTestFinished(async () => await guard.stop());
  await guard.whenReady(new AbortController().signal);
  /** Sends a review of the deletion. Returns the code of the answer once that is in the log. */
  return async (name: string, creationTimestamp: string) => {
    const before = messages().length;
    const url = new URL(`https://127.0.0.1:${guard.ports.securePort}/validate?timeout=5s`);
    const body = JSON.stringify(reviewBody({ name, oldObject: { metadata: { name, uid: name, creationTimestamp } } }));
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    const [response] = (await once(request(url, { ca, method: 'POST', headers }).end(body), 'response')) as [
      IncomingMessage,
    ];
    response.resume();
    await expect.poll(() => messages().length).toBeGreaterThan(before);
    return messages().at(-1)?.split(':')[0];
  };
}

/** Returns the files of src/ of which a function runs during the work. */
async function findFiles(session: Session, work: () => Promise<unknown>): Promise<readonly string[]> {
  await session.post('Profiler.takePreciseCoverage');
  await work();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const ran = result.filter(({ functions }) =>
    functions.some(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0),
  );
  const files = ran.map(({ url }) => url.split(SOURCE)[1] ?? '');
  return files.filter((file) => file !== '' && !file.startsWith('demo/'));
}

test.each([
  ['denied', USED, LONG_AGO, 'MCG_IN_USE'],
  ['allowed', UNUSED, LONG_AGO, 'MCG_NOT_IN_USE'],
  ['held', UNUSED, new Date().toISOString(), 'MCG_HELD'],
])('a deletion that is %s crosses few files', async (_case, name, createdAt, code) => {
  const review = await startGuardedCluster();
  const session = new Session();
  session.connect();
  onTestFinished(() => session.disconnect());
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  // The first one also compiles.
  expect(await review(name, createdAt)).toBe(code);
  const files = new Set(await findFiles(session, async () => await review(name, createdAt)));
  if (code !== 'MCG_IN_USE') files.add(NOT_SEEN);
  expect(files).toContain('review/decide.ts');
  expect(files.size).toBeLessThanOrEqual(MAX_FILES);
});
