import { expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { PATHS } from '../support/paths.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';

const installed = await sharedInstalledCluster();
const { cluster } = installed;

test('a change of the mode has its effect on every replica', async () => {
  const config = await cluster.config();
  await cluster.node({ currentConfig: config });
  for (const [mode, status] of [
    ['Audit', 200],
    ['Enforce', 403],
    ['Disabled', 200],
    ['Enforce', 403],
  ] as const) {
    // Waits until every replica logs it.
    await installed.setSettings({ mode, holdSuperseded: '0s' });
    expect((await cluster.dryRun(config)).status).toBe(status);
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
