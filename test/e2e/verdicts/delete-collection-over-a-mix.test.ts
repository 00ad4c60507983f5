import { expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { auditedVerdicts } from '../support/audit-log.ts';
import { sharedCluster, unique } from '../support/cluster.ts';
import { decisionsAbout } from '../support/guard-process.ts';
import { PATHS } from '../support/paths.ts';

const cluster = sharedCluster();

/** The API server deletes one after the other in the order of the names, until the first refusal (kubernetes, apiserver/pkg/registry/generic/registry/store.go). */
async function collection(inUse: 'a' | 'c') {
  const label = unique('mix');
  const pool = unique('mixed');
  const [a, b, c] = ['a', 'b', 'c'].map((digit) => `rendered-${pool}-${digit.repeat(32)}`) as [string, string, string];
  for (const name of [a, b, c]) await cluster.config({ name, labels: { 'e2e.machineconfig-guard.io/mix': label } });
  const used = inUse === 'a' ? a : c;
  const node = await cluster.node({ currentConfig: used, desiredConfig: used });
  const query = { labelSelector: `e2e.machineconfig-guard.io/mix=${label}` };
  const response = await cluster.admin.delete(PATHS.configs, query);
  return {
    a,
    b,
    c,
    node,
    response,
    left: (await cluster.admin.list(PATHS.configs, query)).map((o) => o.metadata.name),
  };
}

test('deleting a collection stops at the config in use: it stays, those before it are gone', async () => {
  const { c, node, response, left } = await collection('c');

  expect(response.status).toBe(403);
  expect(statusOf(response).message).toContain(
    `MCG_IN_USE: ${c} is in use by node ${node} (currentConfig, desiredConfig).`,
  );
  expect(left).toEqual([c]);
});

test('those after the config in use stay as well', async () => {
  const { a, b, c, response, left } = await collection('a');

  expect(response.status).toBe(403);
  expect(left).toEqual([a, b, c]);
});

test('the request names no object, yet the one audit event tells the truth about the one that was refused', async () => {
  const { a, b, c, node, response } = await collection('c');

  const event = await cluster.auditEvent(response);

  expect(event).toMatchObject({ verb: 'deletecollection', responseStatus: { code: 403, reason: 'Forbidden' } });
  expect(event.objectRef).toMatchObject({ resource: 'machineconfigs' });
  expect(event.objectRef?.name).toBeUndefined();
  const { denied, allowed } = auditedVerdicts(event);
  expect(denied).toEqual({
    name: c,
    code: 'MCG_IN_USE',
    referrers: [
      { kind: 'Node', name: node, field: 'currentConfig' },
      { kind: 'Node', name: node, field: 'desiredConfig' },
    ],
    more: 0,
  });
  // The first value of a key wins: one of those that were deleted, never the refused one.
  expect([a, b]).toContain(allowed?.name);
  expect(await decisionsAbout(cluster.connection.guardLog, c)).toHaveLength(1);
});

test('a collection of which nothing is in use is deleted', async () => {
  const label = unique('free');
  const labels = { 'e2e.machineconfig-guard.io/mix': label };
  const names = [await cluster.config({ labels }), await cluster.config({ labels })];

  const response = await cluster.admin.delete(PATHS.configs, {
    labelSelector: `e2e.machineconfig-guard.io/mix=${label}`,
  });

  expect(response.status).toBe(200);
  for (const name of names) expect(await cluster.exists(name)).toBe(false);
});
