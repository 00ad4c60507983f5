import { expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { until } from '../control-plane/until.ts';
import { auditedVerdicts } from '../support/audit-log.ts';
import { unique } from '../support/cluster.ts';
import { poolStatus } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

const installed = await sharedInstalledCluster();
const { cluster } = installed;
const ALLOW_DELETION = 'machineconfig-guard.io/allow-deletion';
const MIX_LABEL = 'e2e.machineconfig-guard.io/mix';
/** Just below the limit of etcd for one request, 1.5 MiB. */
const LARGEST_BYTES = Math.floor(1.4 * 1024 * 1024);

test('deletes a config in use when its annotation gives a reason, and audits the reason', async () => {
  const reason = 'worker-7 was scrapped, ticket 4711';
  const config = await cluster.config({ annotations: { [ALLOW_DELETION]: reason } });
  await cluster.node({ currentConfig: config, desiredConfig: config });

  const response = await cluster.delete(config);

  expect(response.status).toBe(200);
  expect(auditedVerdicts(await cluster.auditEvent(response))).toEqual({
    overridden: { name: config, code: 'MCG_OVERRIDDEN', referrers: [], more: 0, reason },
  });
  expect(response.warnings.join()).toContain(reason);
});

test('answers a dry run like the deletion, deletes nothing and writes no Event', async () => {
  const [config, unused, later] = [await cluster.config(), await cluster.config(), await cluster.config()];
  const name = await cluster.node({ currentConfig: config });
  await cluster.node({ currentConfig: later });

  const dryRun = await cluster.expectDenied(config, [{ kind: 'Node', name, field: 'currentConfig' }], {
    dryRun: 'All',
  });
  expect((await cluster.dryRun(unused)).status).toBe(200);
  expect(await cluster.exists(unused)).toBe(true);
  // The Event of a later denial follows all Events of earlier ones.
  await cluster.delete(later);
  await cluster.awaitEvent(later);

  expect(await cluster.eventsAbout(config)).toEqual([]);
  expect(statusOf(await cluster.delete(config)).message).toBe(statusOf(dryRun).message);
});

test('writes one Event about the config for a denial, and counts repeated denials in it', async () => {
  const config = await cluster.config();
  const node = await cluster.node({ currentConfig: config });

  expect((await cluster.delete(config)).status).toBe(403);

  const event = await cluster.awaitEvent(config);
  expect(event).toMatchObject({
    type: 'Warning',
    reason: 'DeletionDenied',
    regarding: { apiVersion: 'machineconfiguration.openshift.io/v1', kind: 'MachineConfig', name: config },
  });
  expect(event.note).toContain(`is in use by node ${node}`);

  // Each replica counts its own denials. A client's connection always reaches the same replica.
  for (let repeat = 0; repeat < 4; repeat += 1) expect((await cluster.delete(config)).status).toBe(403);
  const isCounted = async () =>
    (await cluster.eventsAbout(config)).some(({ series }) => (series?.count ?? 0) >= 2);
  await until('an Event with a series', isCounted, { timeoutMs: 20_000 });
  expect((await cluster.eventsAbout(config)).length).toBeLessThanOrEqual(2);
});

test('deletes a source config without calling the guard, even if a node names it', async () => {
  const source = await cluster.config({ name: unique('99-worker') });
  await cluster.node({ currentConfig: source });
  const rendered = await cluster.config();

  const response = await cluster.delete(source);

  expect(response.status).toBe(200);
  expect(auditedVerdicts(await cluster.auditEvent(response))).toEqual({});
  // The line of a later decision follows the lines of earlier ones.
  await cluster.delete(rendered);
  await until('a log line', async () => (await installed.decisionsAbout(rendered)).length > 0, {
    timeoutMs: 5_000,
  });
  expect(await installed.decisionsAbout(source)).toEqual([]);
});

test('decides about a config of 1.4 MiB', async () => {
  const config = await cluster.config({ bytes: LARGEST_BYTES });
  const name = await cluster.node({ currentConfig: config });

  await cluster.expectDenied(config, [{ kind: 'Node', name, field: 'currentConfig' }]);

  await cluster.moveNode(name, { currentConfig: await cluster.config() });
  await cluster.expectAllowed(config);
});

test('allows unused configs while a pool changes ten times per second', async () => {
  const config = await cluster.config();
  const { metadata } = await cluster.pool({ status: config });
  const path = `${PATHS.pools}/${metadata.name}`;
  const { status } = poolStatus(config) as { readonly status: object };
  const state = { writes: 0 };
  const writer = setInterval(() => {
    state.writes += 1;
    void cluster.admin.patch(`${path}/status`, { status: { ...status, readyMachineCount: state.writes } });
  }, 100);
  const statuses: number[] = [];
  while (state.writes < 20) statuses.push((await cluster.delete(await cluster.config())).status);
  clearInterval(writer);
  await cluster.admin.delete(path);

  expect(new Set(statuses)).toEqual(new Set([200]));
});

// The API server deletes in the order of the names (kubernetes, apiserver/pkg/registry/generic/registry/store.go).
test('stops deleting a collection at the config in use, and audits the denied config', async () => {
  const [label, pool] = [unique('mix'), unique('mixed')];
  const names = ['a', 'b', 'c'].map((digit) => `rendered-${pool}-${digit.repeat(32)}`);
  for (const name of names) await cluster.config({ name, labels: { [MIX_LABEL]: label } });
  const [first, second, used = ''] = names;
  const node = await cluster.node({ currentConfig: used });
  const query = { labelSelector: `${MIX_LABEL}=${label}` };

  const response = await cluster.admin.delete(PATHS.configs, query);

  expect(response.status).toBe(403);
  expect((await cluster.admin.list(PATHS.configs, query)).map(({ metadata }) => metadata.name)).toEqual([
    used,
  ]);
  const event = await cluster.auditEvent(response);
  // The request has no name of an object.
  expect(event.objectRef?.name).toBeUndefined();
  const { denied, allowed } = auditedVerdicts(event);
  const referrers = [{ kind: 'Node', name: node, field: 'currentConfig' }];
  expect(denied).toEqual({ name: used, code: 'MCG_IN_USE', referrers, more: 0 });
  // An audit event keeps the first value of a key, which is about a deleted config.
  expect([first, second]).toContain(allowed?.name);
});
