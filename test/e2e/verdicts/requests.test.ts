import { expect, test } from 'vitest';

import { auditedVerdicts } from '../support/audit-log.ts';
import { unique } from '../support/cluster.ts';
import { PATHS } from '../support/paths.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';

const { cluster } = await sharedInstalledCluster();
const MIX_LABEL = 'e2e.machineconfig-guard.io/mix';

test('answers a dry run like the deletion, deletes nothing and writes no Event', async () => {
  const config = await cluster.config();
  const unused = await cluster.config();
  const later = await cluster.config();
  for (const used of [config, later]) await cluster.node({ currentConfig: used });

  const dryRun = await cluster.dryRun(config);
  expect(dryRun.status).toBe(403);
  expect((await cluster.dryRun(unused)).status).toBe(200);
  expect(await cluster.exists(unused)).toBe(true);
  // The Event of a later denial follows all Events of earlier ones.
  await cluster.delete(later);
  await cluster.awaitEvent(later);

  expect(await cluster.eventsAbout(config)).toEqual([]);
  expect((await cluster.delete(config)).body).toEqual(dryRun.body);
});

// The API server deletes in the order of the names (apiserver/pkg/registry/generic/registry/store.go).
test('denies the config in use of a deleted collection, and audits it', async () => {
  const [label, pool] = [unique('mix'), unique('mixed')];
  const names = ['a', 'b', 'c'].map((digit) => `rendered-${pool}-${digit.repeat(32)}`);
  for (const name of names) await cluster.config({ name, labels: { [MIX_LABEL]: label } });
  const [first, second, used = ''] = names;
  const node = await cluster.node({ currentConfig: used });
  const query = { labelSelector: `${MIX_LABEL}=${label}` };

  const response = await cluster.admin.delete(PATHS.configs, query);

  expect(response.status).toBe(403);
  const remaining = await cluster.admin.list(PATHS.configs, query);
  expect(remaining).toMatchObject([{ metadata: { name: used } }]);
  const event = await cluster.auditEvent(response);
  // The request has no name of an object.
  expect(event.objectRef?.name).toBeUndefined();
  const { denied, allowed } = auditedVerdicts(event);
  const referrers = [{ kind: 'Node', name: node, field: 'currentConfig' }];
  expect(denied).toEqual({ name: used, code: 'MCG_IN_USE', referrers, more: 0 });
  // An audit event keeps the first value of a key, which is about a deleted config.
  expect([first, second]).toContain(allowed?.name);
});
