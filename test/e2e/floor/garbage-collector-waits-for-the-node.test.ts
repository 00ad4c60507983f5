import { afterAll, beforeAll, expect, test } from 'vitest';

import { expectStatus } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { auditedBy, awaitKnown, startFloor } from '../support/floor.ts';
import type { InstalledCluster } from '../support/installed-cluster.ts';
import { PATHS } from '../support/paths.ts';

const GARBAGE_COLLECTOR = 'system:serviceaccount:kube-system:generic-garbage-collector';

let installed: InstalledCluster;

beforeAll(async () => {
  installed = await startFloor();
}, 120_000);

afterAll(() => installed.stop());

test("a deleted pool's configs are collected as nodes let go of them", async () => {
  const { cluster } = installed;
  const pool = await cluster.pool();
  const [free, used, next] = [
    await cluster.config({ owner: pool }),
    await cluster.config({ owner: pool }),
    await cluster.config(),
  ];
  const node = await cluster.node({ currentConfig: used, desiredConfig: used });
  await awaitKnown(installed, used, ['nodes']);
  const attempts = () =>
    cluster.auditLog.events(
      ({ user, verb, objectRef }) =>
        user.username === GARBAGE_COLLECTOR && verb === 'delete' && objectRef?.name === used,
    );

  const path = `${PATHS.pools}/${pool.metadata.name}`;
  expectStatus(await cluster.admin.delete(path, { propagationPolicy: 'Background' }), [200], `DELETE ${path}`);

  await until('the free config to be collected', async () => !(await cluster.exists(free)), { timeoutMs: 20_000 });
  const refused = await until('two refusals', async () => (await attempts()).length >= 2 && (await attempts()), {
    timeoutMs: 20_000,
  });
  for (const event of refused) {
    expect(event.responseStatus?.code).toBe(403);
    expect(auditedBy('nodes', event).denied).toEqual({ name: used, code: 'MCG_IN_USE' });
  }
  expect(await cluster.exists(used)).toBe(true);

  await cluster.moveNode(node, { currentConfig: next, desiredConfig: next });

  await until('the config to be collected', async () => !(await cluster.exists(used)), { timeoutMs: 60_000 });
  expect((await attempts()).at(-1)?.responseStatus?.code).toBe(200);
}, 110_000);
