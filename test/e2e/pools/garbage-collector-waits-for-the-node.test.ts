import { expect, test } from 'vitest';

import { expectStatus } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { auditedVerdicts } from '../support/audit-log.ts';
import { sharedCluster } from '../support/cluster.ts';
import { PATHS } from '../support/paths.ts';

const cluster = sharedCluster();
const GARBAGE_COLLECTOR = 'system:serviceaccount:kube-system:generic-garbage-collector';

test("after a pool's deletion the garbage collector gets its configs only as nodes let go of them", async () => {
  const pool = await cluster.pool();
  const free = await cluster.config({ owner: pool });
  const inUse = await cluster.config({ owner: pool });
  const next = await cluster.config();
  const node = await cluster.node({ currentConfig: inUse, desiredConfig: inUse });
  const attempts = () =>
    cluster.auditLog.events(
      ({ user, verb, objectRef }) =>
        user.username === GARBAGE_COLLECTOR && verb === 'delete' && objectRef?.name === inUse,
    );

  const path = `${PATHS.pools}/${pool.metadata.name}`;
  expectStatus(await cluster.admin.delete(path, { propagationPolicy: 'Background' }), [200], `DELETE ${path}`);

  await until('the free config to be collected', async () => !(await cluster.exists(free)), { timeoutMs: 20_000 });
  const refused = await until(
    'the collector to be refused more than once',
    async () => {
      const events = await attempts();
      return events.length >= 3 && events;
    },
    { timeoutMs: 20_000 },
  );
  expect(await cluster.exists(inUse)).toBe(true);
  for (const event of refused) {
    expect(event.responseStatus?.code).toBe(403);
    expect(auditedVerdicts(event).denied).toMatchObject({ name: inUse, code: 'MCG_IN_USE' });
  }

  // It waits twice as long after every refusal: soon after the beginning, the next attempt is never far.
  await cluster.moveNode(node, { currentConfig: next, desiredConfig: next });
  await until('the config to be collected by itself', async () => !(await cluster.exists(inUse)), {
    timeoutMs: 60_000,
  });
  expect((await attempts()).at(-1)?.responseStatus?.code).toBe(200);
}, 110_000);
