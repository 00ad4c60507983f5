import { afterAll, expect, test } from 'vitest';
import { statusOf } from '../control-plane/kube-client.ts';
import { unique } from '../support/cluster.ts';
import { auditedByPolicy, awaitFloor, awaitReferences, policyDenialOf, type Policy } from '../support/floor.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { PATHS } from '../support/objects.ts';

const ALLOW_DELETION = 'machineconfig-guard.io/allow-deletion';
/** Just below the limit of etcd for one request, 1.5 MiB. */
const LARGEST_BYTES = Math.floor(1.4 * 1024 * 1024);

const installed = await InstalledCluster.start();
const { cluster } = installed;
await installed.applyOverlay('policy-floor');
await awaitFloor(cluster);

afterAll(() => installed.stop());

function createNode(config: string): Promise<string> {
  return cluster.node({ currentConfig: config });
}

async function deletionStatus(config: string): Promise<number> {
  return (await cluster.delete(config)).status;
}

test.for<{ policy: Policy; fields: readonly string[] }>([
  { policy: 'nodes', fields: ['currentConfig', 'desiredConfig'] },
  { policy: 'nodes', fields: ['desiredConfig'] },
  { policy: 'pools', fields: ['spec', 'status'] },
])('the policy of $policy denies when $fields name the config', async ({ policy, fields }) => {
  const config = await cluster.config();
  const options = Object.fromEntries(fields.map((field) => [field, config]));
  const name = policy === 'nodes' ? await cluster.node(options) : (await cluster.pool(options)).metadata.name;
  await awaitReferences(cluster, config, [policy]);

  const response = await cluster.delete(config);

  expect(statusOf(response)).toMatchObject({ code: 403, reason: 'Forbidden' });
  const referrer = `${policy.slice(0, -1)} ${name} (${fields.join(', ')})`;
  const message = `MCG_IN_USE: ${config} is in use by ${referrer} and perhaps others. `;
  expect(policyDenialOf(response)).toEqual({ policy, message: expect.stringContaining(message) as string });
  expect(await cluster.exists(config)).toBe(true);
  const event = await cluster.auditEvent(response);
  const denied = { name: config, code: 'MCG_IN_USE' };
  expect(auditedByPolicy(policy, event)).toEqual({ denied });
  expect(auditedByPolicy(policy === 'nodes' ? 'pools' : 'nodes', event)).toEqual({});
});

// An expression that fails for one of them would deny every deletion in the cluster.
test('an unused config is deleted beside nodes and pools without the fields', async () => {
  const [used, unused] = [await cluster.config(), await cluster.config()];
  const bare = { apiVersion: 'v1', kind: 'Node', metadata: { name: unique('bare') } };
  expect((await cluster.admin.create(PATHS.nodes, bare)).metadata.annotations).toBeUndefined();
  await cluster.node();
  expect((await cluster.pool()).status).toBeUndefined();
  await cluster.pool({ status: await cluster.config() });
  await cluster.node({ desiredConfig: used });
  await awaitReferences(cluster, used, ['nodes']);

  const response = await cluster.delete(unused);
  expect(response).toMatchObject({ status: 200, warnings: [] });
  const event = await cluster.auditEvent(response);
  expect(auditedByPolicy('nodes', event)).toEqual({});
  expect(auditedByPolicy('pools', event)).toEqual({});
  expect(policyDenialOf(await cluster.delete(used))?.message).toContain(`MCG_IN_USE: ${used}`);
});

test('a config of 1.4 MiB is denied until its node has moved', async () => {
  const config = await cluster.config({ bytes: LARGEST_BYTES });
  const node = await createNode(config);
  await expect.poll(() => deletionStatus(config)).toBe(403);

  await cluster.moveNode(node, { currentConfig: await cluster.config() });
  await expect.poll(() => deletionStatus(config)).toBe(200);
});

test.for([
  { reason: ' node is "scrap" \\ CHG-7 ', recorded: 'node is "scrap" \\ CHG-7' },
  { reason: 'two\nlines,\ttabs\u0007 and \u2028 more', recorded: 'two lines, tabs and more' },
  { reason: 'äöü 救', recorded: 'äöü 救' },
  { reason: 'x'.repeat(300), recorded: `${'x'.repeat(253)}...` },
  // An annotation can be this long, and an expression that costs too much would deny.
  { reason: 'ab '.repeat(80_000), recorded: `${'ab '.repeat(84)}a...` },
])('the annotation with a reason allows the deletion, and the audit log has one line', async ({ reason, recorded }) => {
  const config = await cluster.config({ annotations: { [ALLOW_DELETION]: reason } });
  // Several referrers must still lead to one value.
  for (let count = 0; count < 2; count += 1) {
    await createNode(config);
    await cluster.pool({ spec: config });
  }
  await awaitReferences(cluster, config, ['nodes', 'pools']);

  const response = await cluster.delete(config);

  expect(response.status).toBe(200);
  const event = await cluster.auditEvent(response);
  const overridden = { name: config, code: 'MCG_OVERRIDDEN', reason: recorded };
  expect(auditedByPolicy('nodes', event)).toEqual({ overridden });
  expect(auditedByPolicy('pools', event)).toEqual({ overridden });
});

test.for(['', ' \n\t', '\u0000\u200b', '\u3164\u2800\ufe0f'])(
  'the annotation with the reason %j denies',
  async (reason) => {
    const config = await cluster.config({ annotations: { [ALLOW_DELETION]: reason } });
    await createNode(config);
    await awaitReferences(cluster, config, ['nodes']);

    const { message } = policyDenialOf(await cluster.delete(config)) ?? {};

    expect(message).toContain('allow-deletion annotation has no reason, so it is ignored.');
  },
);

// The request has no name of an object.
test('the deletion of a collection is denied at the config in use', async () => {
  const used = await cluster.config({ labels: { e2e: 'collection' } });
  await createNode(used);
  await awaitReferences(cluster, used, ['nodes']);

  const response = await cluster.admin.delete(PATHS.configs, { labelSelector: 'e2e=collection' });

  expect(policyDenialOf(response)?.message).toContain(`MCG_IN_USE: ${used} is in use`);
  expect(await cluster.exists(used)).toBe(true);
});
