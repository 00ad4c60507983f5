import { dirname } from 'node:path';

import { expect, test } from 'vitest';

import { KubeClient, statusOf } from '../control-plane/kube-client.ts';
import { PATHS } from '../support/paths.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

const installed = await sharedInstalledCluster();
const { cluster } = installed;
/** One round of calls can lead to the same replica. */
const ROUNDS = 10;
const CLIENTS = 4;

test('a change of the mode has its effect on every replica', async () => {
  const config = await cluster.config();
  await cluster.node({ currentConfig: config });
  // Calls at the same time need several connections of the API server, which lead to both replicas.
  const clients = Array.from({ length: CLIENTS }, () => new KubeClient(cluster.admin.connection));
  const ask = async (client: KubeClient) =>
    (await client.delete(`${PATHS.configs}/${config}`, { dryRun: 'All' })).status;
  const haveAllAnswered = async (status: number) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const answers = await Promise.all(clients.map(ask));
      if (answers.some((answer) => answer !== status)) return false;
    }
    return true;
  };
  for (const [mode, status] of [
    ['Audit', 200],
    ['Enforce', 403],
    ['Disabled', 200],
    ['Enforce', 403],
  ] as const) {
    await cluster.admin.patch(PATHS.guard, { spec: { mode } });
    await expect.poll(() => haveAllAnswered(status), { message: mode }).toBe(true);
  }
});

test('a deleted MachineConfigGuard means Enforce, and the guard creates it again', async () => {
  await installed.setSettings({ mode: 'Disabled', holdSuperseded: '0s' });
  const config = await cluster.config();
  await cluster.node({ currentConfig: config });

  await cluster.admin.delete(PATHS.guard);

  const dryRunStatus = async () => (await cluster.dryRun(config)).status;
  await expect.poll(dryRunStatus).toBe(403);
  const readSpec = async () => (await cluster.admin.find(PATHS.guard))?.spec;
  await expect.poll(readSpec).toEqual({ mode: 'Enforce' });
  await installed.setSettings({ mode: 'Enforce', holdSuperseded: '0s' });
});

test.for([
  ['spec.mode', { mode: 'Off' }, 'supported values: "Enforce", "Warn", "Audit", "Disabled"'],
  ['spec.holdSuperseded', { holdSuperseded: 'soon' }, 'it must be a duration such as'],
  ['spec.holdSuperseded', { holdSuperseded: '99999999999h' }, 'it must be a duration such as'],
  ['spec.holdSuperseded', { holdSuperseded: '721h' }, 'it must not be longer than 720h'],
] as const)('the API server rejects an invalid %s: %j', async ([field, spec, message]) => {
  const response = await cluster.admin.request('PATCH', PATHS.guard, { spec });

  expect(response.status).toBe(422);
  expect(statusOf(response).message).toContain(field);
  expect(statusOf(response).message).toContain(message);
});

test('the API server rejects another name than cluster', async () => {
  const object = {
    apiVersion: 'machineconfig-guard.io/v1alpha1',
    kind: 'MachineConfigGuard',
    metadata: { name: 'mine' },
  };
  const { status, body } = await cluster.admin.request('POST', dirname(PATHS.guard), object);

  expect(status).toBe(422);
  expect(body).toMatchObject({ message: expect.stringContaining('its name is "cluster"') });
});
