import { afterAll, beforeAll, expect, test } from 'vitest';

import { unique } from '../support/cluster.ts';
import { auditedBy, awaitKnown, refusalOf, startFloor } from '../support/floor.ts';
import type { InstalledCluster } from '../support/installed-cluster.ts';
import { PATHS } from '../support/paths.ts';

const LABEL = 'e2e.machineconfig-guard.io/mix';

let installed: InstalledCluster;

beforeAll(async () => {
  installed = await startFloor();
}, 120_000);

afterAll(() => installed.stop());

/** Three configs, deleted by one request in the order of their names until the first refusal. */
async function deleteCollection(used?: 'a' | 'c') {
  const { cluster } = installed;
  const [label, pool] = [unique('mix'), unique('mixed')];
  const [a, b, c] = ['a', 'b', 'c'].map((digit) => `rendered-${pool}-${digit.repeat(32)}`) as [string, string, string];
  for (const name of [a, b, c]) await cluster.config({ name, labels: { [LABEL]: label } });
  const inUse = used === 'a' ? a : c;
  if (used !== undefined) {
    await cluster.node({ currentConfig: inUse });
    await awaitKnown(installed, inUse, ['nodes']);
  }
  const query = { labelSelector: `${LABEL}=${label}` };
  const response = await cluster.admin.delete(PATHS.configs, query);
  const left = (await cluster.admin.list(PATHS.configs, query)).map((object) => object.metadata.name);
  return { a, b, c, response, left };
}

test('the one in use stays, those before it are gone, and the one audit event names it', async () => {
  const { c, response, left } = await deleteCollection('c');

  expect(refusalOf(response)?.message).toContain(`MCG_IN_USE: ${c} is in use by node`);
  expect(left).toEqual([c]);
  const event = await installed.cluster.auditEvent(response);
  expect(event).toMatchObject({ verb: 'deletecollection', responseStatus: { code: 403 } });
  expect(auditedBy('nodes', event)).toEqual({ denied: { name: c, code: 'MCG_IN_USE' } });
});

test('those after the one in use stay as well', async () => {
  const { a, b, c, response, left } = await deleteCollection('a');

  expect(response.status).toBe(403);
  expect(left).toEqual([a, b, c]);
});

test('a collection of which nothing is in use is deleted', async () => {
  const { response, left } = await deleteCollection();

  expect(response.status).toBe(200);
  expect(left).toEqual([]);
});
