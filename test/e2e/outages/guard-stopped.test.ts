import { afterAll, beforeAll, expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { Cluster, unique } from '../support/cluster.ts';
import { GuardedCluster } from '../support/guarded-cluster.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';

let guarded: GuardedCluster;
let cluster: Cluster;
let free: string;
let node: string;
let exitCode: number | null;

beforeAll(async () => {
  guarded = await GuardedCluster.start(await runBinaries());
  cluster = new Cluster(guarded.connection);
  free = await cluster.config();
  node = await cluster.node({ currentConfig: free });
  exitCode = await guarded.guard.stop();
});

afterAll(() => guarded.stop());

test('the guard ends with exit code 0 when it is told to', () => {
  expect(exitCode).toBe(0);
});

test('while the guard is stopped, rendered configs are not deleted: failurePolicy Fail', async () => {
  const response = await cluster.delete(free);

  expect(response.status).toBe(500);
  expect(statusOf(response).reason).toBe('InternalError');
  expect(statusOf(response).message).toContain('failed calling webhook "guard.machineconfig-guard.io"');
  expect(await cluster.exists(free)).toBe(true);
});

test('while the guard is stopped, source configs are deleted as ever', async () => {
  const source = await cluster.config({ name: unique('99-worker') });

  expect((await cluster.delete(source)).status).toBe(200);
  expect(await cluster.exists(source)).toBe(false);
});

test('while the guard is stopped, rendered configs are created and changed as ever', async () => {
  const config = await cluster.config();

  const changed = await cluster.admin.patch(`${PATHS.configs}/${config}`, {
    metadata: { annotations: { seen: 'yes' } },
  });
  expect(changed.metadata.annotations).toMatchObject({ seen: 'yes' });
});

test('while the guard is stopped, nodes, pools and builds are written and deleted as ever', async () => {
  const pool = (await cluster.pool({ spec: free })).metadata.name;
  const build = await cluster.build(free, 'Building');
  await cluster.moveNode(node, { desiredConfig: free });

  for (const path of [`${PATHS.pools}/${pool}`, `${PATHS.builds}/${build}`, `${PATHS.nodes}/${node}`]) {
    expect((await cluster.admin.delete(path)).status).toBe(200);
    expect(await cluster.admin.find(path)).toBeUndefined();
  }
});

test('without the webhook configuration, the last step of the ladder, everything can be deleted', async () => {
  const config = await cluster.config();
  expect((await cluster.delete(config)).status).toBe(500);

  expect((await cluster.admin.delete(`${PATHS.webhookConfigurations}/machineconfig-guard`)).status).toBe(200);

  await expect.poll(async () => (await cluster.delete(config)).status, { timeout: 10_000 }).toBe(200);
});
