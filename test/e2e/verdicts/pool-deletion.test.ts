import { expect, test } from 'vitest';

import { expectStatus } from '../control-plane/kube-client.ts';
import { auditedVerdicts } from '../support/audit-log.ts';
import { PATHS } from '../support/paths.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';

const { cluster } = await sharedInstalledCluster();
const GARBAGE_COLLECTOR = 'system:serviceaccount:kube-system:generic-garbage-collector';

test('denies the garbage collector the config of a deleted pool until its node has moved', async () => {
  const pool = await cluster.pool();
  const path = `${PATHS.pools}/${pool.metadata.name}`;
  const unused = await cluster.config({ owner: pool });
  const used = await cluster.config({ owner: pool });
  await cluster.admin.patch(path, { spec: { configuration: { name: used } } });
  const node = await cluster.node({ currentConfig: used, desiredConfig: used });
  expectStatus(await cluster.admin.delete(path), [200], `DELETE ${path}`);
  await expect.poll(() => cluster.exists(unused)).toBe(false);
  const findAttempts = () =>
    cluster.auditEvents(
      ({ user, verb, objectRef }) =>
        user.username === GARBAGE_COLLECTOR && verb === 'delete' && objectRef?.name === used,
    );
  const countAttempts = async () => (await findAttempts()).length;
  await expect.poll(countAttempts).toBeGreaterThan(1);
  expect(await cluster.exists(used)).toBe(true);
  for (const event of await findAttempts()) {
    expect(event.responseStatus?.code).toBe(403);
    expect(auditedVerdicts(event).denied).toMatchObject({ name: used, code: 'MCG_IN_USE' });
  }

  // The garbage collector doubles its delay after each denial, so the next attempt comes soon.
  const next = await cluster.config();
  await cluster.moveNode(node, { currentConfig: next, desiredConfig: next });

  await expect.poll(() => cluster.exists(used)).toBe(false);
  expect((await findAttempts()).at(-1)?.responseStatus?.code).toBe(200);
});
