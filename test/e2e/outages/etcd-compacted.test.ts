import { afterAll, beforeAll, expect, test } from 'vitest';

import { until } from '../control-plane/until.ts';
import { Cluster, deleted, refusedInUse } from '../support/cluster.ts';
import { decisionsAbout } from '../support/guard-process.ts';
import { GuardedCluster } from '../support/guarded-cluster.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';

let guarded: GuardedCluster;
let cluster: Cluster;

beforeAll(async () => {
  guarded = await GuardedCluster.start(await runBinaries());
  cluster = new Cluster(guarded.connection);
});

afterAll(() => guarded.stop());

async function listVersion(path: string): Promise<string> {
  const { body } = await cluster.admin.request('GET', path);
  return (body as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
}

/** The code that a watch from this version meets: of the answer, or of the ERROR event in it. */
async function watchMeets(path: string, resourceVersion: string): Promise<number | undefined> {
  const query = { watch: '1', resourceVersion, timeoutSeconds: '1' };
  const { status, body } = await cluster.admin.request('GET', path, undefined, { query });
  const event = body as { type?: string; object?: { code?: number } };
  return status === 200 && event.type === 'ERROR' ? event.object?.code : status;
}

test('after a gap that no watch can bridge (410) the guard is right again, without a restart', async () => {
  const [first, second] = [await cluster.config(), await cluster.config()];
  const node = await cluster.node({ currentConfig: first });
  await until(
    'the index to know the node',
    async () => {
      expect((await cluster.delete(first)).status).toBe(403);
      return (await decisionsAbout(guarded.guard.log, first)).some(({ path }) => path === 'index');
    },
    { timeoutMs: 10_000 },
  );
  const seen = await listVersion(PATHS.nodes);

  await guarded.proxy.refuse();
  await cluster.moveNode(node, { currentConfig: second });
  await guarded.controlPlane.apiServer.restart();
  await guarded.controlPlane.compactEtcd();
  // What the guard will be told when it asks for what it has missed.
  expect(await watchMeets(PATHS.nodes, seen)).toBe(410);
  await guarded.proxy.resume();

  await until(
    'the index to have caught up',
    async () => {
      const response = await cluster.delete(second);
      expect([403, 503]).toContain(response.status);
      return (await decisionsAbout(guarded.guard.log, second)).some(({ path }) => path === 'index');
    },
    { timeoutMs: 60_000, everyMs: 500 },
  );
  const referrers = [{ kind: 'Node', name: node, field: 'currentConfig' }];
  expect(await cluster.outcome(second, await cluster.delete(second))).toEqual(refusedInUse(second, referrers));
  expect(await cluster.outcome(first, await cluster.delete(first))).toEqual(deleted(first));
  expect(guarded.guard.running).toBe(true);
}, 120_000);
