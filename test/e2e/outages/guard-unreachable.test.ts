import { afterAll, beforeAll, expect, test } from 'vitest';

import { KubeClient, statusOf } from '../control-plane/kube-client.ts';
import { pause } from '../control-plane/until.ts';
import { Cluster, unique } from '../support/cluster.ts';
import { machineConfig } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import { IS_LONG } from '../support/run-binaries.ts';
import { sharedGuardedCluster } from '../support/shared-clusters.ts';

const guarded = await sharedGuardedCluster();
const { guard } = guarded;
const cluster = new Cluster(guarded.connection);

// node:http closes idle connections after 5 s, and limits them to 65 s in other ways. The API server keeps them for 90 s.
test.for(IS_LONG ? [7, 65] : [7])(
  'answers on the same connection after %i s without calls',
  { timeout: 100_000 },
  async (seconds) => {
    const caller = new KubeClient({ url: guard.url, ca: guard.ca });
    const callGuard = () =>
      caller.request('POST', '/validate?timeout=5s', {
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        request: {
          uid: unique('review'),
          resource: { group: 'machineconfiguration.openshift.io', version: 'v1', resource: 'machineconfigs' },
          operation: 'DELETE',
          userInfo: { username: 'e2e' },
          oldObject: machineConfig({ name: '99-worker-ssh' }),
        },
      });
    expect((await callGuard()).status).toBe(200);

    await pause(seconds * 1_000);

    expect(await callGuard()).toMatchObject({ status: 200, isConnectionReused: true });
    caller.close();
  },
);

test('stops with exit code 0', async () => {
  expect(await guard.stop()).toBe(0);
});

let config: string;
let node: string;

beforeAll(async () => {
  config = await cluster.config();
  node = await cluster.node({ currentConfig: config });
});

afterAll(() => guard.restart());

test('no rendered config is deleted while the guard is stopped', async () => {
  const response = await cluster.delete(config);

  expect(response.status).toBe(500);
  expect(statusOf(response).message).toContain('failed calling webhook "guard.machineconfig-guard.io"');
  expect(await cluster.exists(config)).toBe(true);
});

test('everything else works while the guard is stopped', async () => {
  const source = await cluster.config({ name: unique('99-worker') });
  expect((await cluster.delete(source)).status).toBe(200);
  await cluster.admin.patch(`${PATHS.configs}/${config}`, { metadata: { annotations: { changed: 'yes' } } });
  const pool = (await cluster.pool({ spec: config })).metadata.name;
  const build = await cluster.build(config, 'Building');
  await cluster.moveNode(node, { desiredConfig: config });
  for (const path of [`${PATHS.pools}/${pool}`, `${PATHS.builds}/${build}`, `${PATHS.nodes}/${node}`]) {
    expect((await cluster.admin.delete(path)).status).toBe(200);
  }
});

test('rendered configs can be deleted without the webhook configuration', async () => {
  const configuration = await cluster.admin.find(PATHS.guardWebhook);

  expect((await cluster.admin.delete(PATHS.guardWebhook)).status).toBe(200);

  await expect.poll(async () => (await cluster.delete(config)).status, { timeout: 10_000 }).toBe(200);
  const restored = { ...configuration, metadata: { name: 'machineconfig-guard' } };
  await cluster.admin.create(PATHS.webhookConfigurations, restored);
});
