import { afterAll, beforeAll, expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { unique } from '../support/cluster.ts';
import { PATHS } from '../support/objects.ts';
import { sharedGuardedCluster } from '../support/guarded-cluster.ts';

const { cluster, guard } = await sharedGuardedCluster();

let config: string;
let node: string;

beforeAll(async () => {
  await guard.stop();
  config = await cluster.config();
  node = await cluster.node({ currentConfig: config });
});

afterAll(() => guard.restart());

test('no rendered config is deleted while the guard is stopped', async () => {
  const response = await cluster.delete(config);

  expect(response.status).toBe(500);
  expect(statusOf(response).message).toContain('failed calling webhook');
  expect(await cluster.exists(config)).toBe(true);
});

test('everything else works while the guard is stopped', async () => {
  const source = await cluster.config({ name: unique('99-worker') });
  expect((await cluster.delete(source)).status).toBe(200);
  const change = { metadata: { annotations: { changed: 'yes' } } };
  await cluster.admin.patch(`${PATHS.configs}/${config}`, change);
  const pool = (await cluster.pool({ spec: config })).metadata.name;
  const build = await cluster.build(config, 'Building');
  await cluster.moveNode(node, { desiredConfig: config });
  for (const path of [`${PATHS.pools}/${pool}`, `${PATHS.builds}/${build}`, `${PATHS.nodes}/${node}`]) {
    expect((await cluster.admin.delete(path)).status).toBe(200);
  }
});
