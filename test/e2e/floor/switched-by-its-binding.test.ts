import { afterAll, beforeAll, expect, test } from 'vitest';

import { applyFloor, auditedBy, refusalOf } from '../support/floor.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { runBinaries } from '../support/run-binaries.ts';

const BINDING = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/nodes.machineconfig-guard.io';

let installed: InstalledCluster;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries());
  await applyFloor(installed);
}, 120_000);

afterAll(() => installed.stop());

async function usedConfig(): Promise<string> {
  const config = await installed.cluster.config();
  await installed.cluster.node({ currentConfig: config });
  return config;
}

test('[Warn, Audit]: it passes, with a warning and a trace', async () => {
  const config = await usedConfig();
  expect(refusalOf(await installed.dryRun(config))?.policy).toBe('nodes');

  await installed.cluster.admin.patch(BINDING, { spec: { validationActions: ['Warn', 'Audit'] } });
  await expect.poll(async () => (await installed.dryRun(config)).status, { timeout: 10_000 }).toBe(200);
  const response = await installed.cluster.delete(config);

  expect(response.status).toBe(200);
  expect(response.warnings).toEqual([expect.stringContaining(`MCG_IN_USE: ${config} is in use by node`)]);
  const event = await installed.cluster.auditEvent(response);
  expect(auditedBy('nodes', event).denied).toMatchObject({ code: 'MCG_IN_USE' });
  expect(event.annotations).toHaveProperty(['validation.policy.admission.k8s.io/validation_failure']);
});

test('[Deny, Audit] again: refused again', async () => {
  const config = await usedConfig();

  await installed.cluster.admin.patch(BINDING, { spec: { validationActions: ['Deny', 'Audit'] } });

  await expect.poll(async () => (await installed.dryRun(config)).status, { timeout: 10_000 }).toBe(403);
});

test('without its binding it does nothing', async () => {
  const config = await usedConfig();

  await installed.cluster.admin.delete(BINDING);

  await expect.poll(async () => (await installed.dryRun(config)).status, { timeout: 10_000 }).toBe(200);
});
