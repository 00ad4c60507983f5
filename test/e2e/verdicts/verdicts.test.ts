import { expect, test } from 'vitest';
import { expectStatus, statusOf } from '../control-plane/kube-client.ts';
import { auditedVerdicts } from '../support/audit-log.ts';
import { unique } from '../support/cluster.ts';
import { PATHS } from '../support/objects.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';

const MIX_LABEL = 'e2e.machineconfig-guard.io/mix';
const GARBAGE_COLLECTOR = 'system:serviceaccount:kube-system:generic-garbage-collector';

const installed = await sharedInstalledCluster();
const { cluster } = installed;

// A node without annotations would add a warning to every allowed deletion.
await installed.clear();
await cluster.node({ currentConfig: 'rendered-worker-old', desiredConfig: 'rendered-worker-old' });

async function createPool(options: { status: string }): Promise<string> {
  return (await cluster.pool(options)).metadata.name;
}

test.for<[kind: string, field: string, noun: string, refer: (config: string) => Promise<string>]>([
  ['Node', 'currentConfig', 'node', (config) => cluster.node({ currentConfig: config })],
  ['MachineConfigPool', 'status', 'pool', (config) => createPool({ status: config })],
  ['MachineOSBuild', 'machineConfig', 'build', (config) => cluster.build(config, 'Building')],
])('denies and names the referrer when only %s %s names the config', async ([kind, field, noun, refer]) => {
  const config = await cluster.config();
  const name = await refer(config);

  const response = await cluster.expectDenied(config, [{ kind, name, field }]);

  expect(statusOf(response).message).toContain(`is in use by ${noun} ${name} (${field}).`);
});

test('allows with a warning when only a finished build names it', async () => {
  const config = await cluster.config();
  const name = await cluster.build(config, 'Succeeded');

  const response = await cluster.expectAllowed(config, [{ kind: 'MachineOSBuild', name, field: 'machineConfig' }]);

  expect(response.warnings).toContainEqual(expect.stringContaining(`build ${name}`));
});

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
