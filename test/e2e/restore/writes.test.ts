import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { until } from '../control-plane/until.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { MCO, PATHS } from '../support/objects.ts';
import { whileNodesRecover } from '../support/cluster-states.ts';
import { createStuckInstall, installed, MASTERS, MISSING, restoreMissing } from './stuck-install.ts';

const POOL = `${PATHS.pools}/master`;
const { cluster, controlPlane } = installed;
const { admin } = cluster;
const api = controlPlane.connectApi(undefined, 'machineconfig-guard/restore');

beforeEach(createStuckInstall);
afterAll(async () => {
  api.close();
  await installed.clear();
});

test('plans, then writes the config as the operator does, and the garbage collector keeps it', async () => {
  const { name, spec } = MISSING;
  await cluster.node({ name: 'control0', role: 'master', currentConfig: name, desiredConfig: name });
  const before = await admin.find(POOL);
  expect(await restoreMissing(api, false)).toMatchObject({ ok: true, written: false });
  expect([await admin.find(POOL), await cluster.exists(name)]).toEqual([before, false]);

  const report = await whileNodesRecover(installed, restoreMissing(api, true));

  expect(report).toMatchObject({ ok: true, configs: [{ outcome: 'restored' }], pausedPools: [] });
  const { uid } = (await admin.find(POOL))?.metadata ?? {};
  const { metadata, ...content } = (await admin.find(`${PATHS.configs}/${name}`)) ?? expect.fail('no config');
  expect(content).toEqual({ apiVersion: `${MCO}/v1`, kind: 'MachineConfig', spec });
  expect(metadata.labels).toBeUndefined();
  expect(metadata.annotations).toEqual({
    [`${MCO}/generated-by-controller-version`]: '33286190af0d4d340af5c61e603d185780e74b39',
    [`${MCO}/release-image-version`]: '4.20.0',
  });
  const owner = { apiVersion: `${MCO}/v1`, kind: 'MachineConfigPool', name: 'master', uid };
  expect(metadata.ownerReferences).toEqual([{ ...owner, controller: true, blockOwnerDeletion: true }]);
  // Nothing but the daemons has changed the nodes.
  const writes = await cluster.auditEvents(
    ({ objectRef, verb, userAgent }) =>
      objectRef?.resource === 'nodes' &&
      !/get|list|watch/.test(verb) &&
      userAgent?.startsWith('machineconfig-guard/') === true,
  );
  expect(writes).toEqual([]);

  // The garbage collector deletes a config with an unknown owner at once, and this one after its pool.
  const orphan = await cluster.config({ owner: { ...owner, metadata: { name: 'master', uid: 'dead' } } });
  const awaitDeletion = (config: string) =>
    until(`the deletion of ${config}`, async () => !(await cluster.exists(config)));
  await awaitDeletion(orphan);
  expect(await cluster.exists(name)).toBe(true);
  for (const node of [...MASTERS, 'control0']) await admin.delete(`${PATHS.nodes}/${node}`);
  await cluster.node();
  await admin.delete(POOL, { propagationPolicy: 'Background' });
  await awaitDeletion(name);
});

test('rejects a restore if a policy denies the pause, with the message of the policy', async () => {
  const policy = ['--filename', join(import.meta.dirname, 'pool-selector-policy.yaml')];
  await kubectlOk(controlPlane, ['create', ...policy]);
  const plan = () => restoreMissing(api, false);

  const reason = expect.stringMatching(
    /^the API server denies to pause pool master: .*ValidatingAdmissionPolicy 'pool-selector'.*: pools must select/,
  ) as string;
  const rejected = { outcome: 'rejected', steps: [], rejection: { code: 'WriteDenied', reason } };
  await expect.poll(plan, { interval: 500 }).toMatchObject({ ok: false, configs: [rejected] });

  await kubectlOk(controlPlane, ['delete', ...policy]);
  await expect.poll(async () => (await plan()).ok, { interval: 500 }).toBe(true);
});
