import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { DocumentedPage } from '../support/documented-page.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { PATHS } from '../support/objects.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';
import { openShell } from '../support/shell.ts';

const MONITORING = 'docs/monitoring.md';
const NOT_ENFORCING = 'docs/runbooks/MachineConfigGuardNotEnforcing.md';
const COMPONENT = join(MANIFESTS, 'components/monitoring');
const DASHBOARD = '/api/v1/namespaces/openshift-config-managed/configmaps/machineconfig-guard-dashboard';

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;
const shell = await openShell(controlPlane);

await kubectlOk(controlPlane, ['create', 'namespace', 'openshift-config-managed']);
// The page creates the objects of the component again.
const files = ['service-monitor', 'prometheus-rule', 'rbac'].map((name) => join(COMPONENT, `${name}.yaml`));
await kubectlOk(controlPlane, ['delete', ...files.map((file) => `--filename=${file}`)]);

afterAll(async () => {
  await kubectlOk(controlPlane, ['delete', 'namespace', 'openshift-config-managed']);
  await installed.applyOverlay('monitoring');
});

test('docs/monitoring.md adds metrics and a dashboard, and leaves the Deployment alone', async () => {
  const page = new DocumentedPage(MONITORING);
  const [{ stdout }] = await page.run(shell);
  expect(stdout).toContain('servicemonitor.monitoring.coreos.com/machineconfig-guard created');
  // An overlay would replace its image.
  expect(stdout).not.toContain('deployment.apps/');
  expect(page.remaining).toEqual([]);
  expect(await cluster.admin.find(DASHBOARD)).toBeDefined();
});

test('the runbook of NotEnforcing finds which client changed the mode and when, and sets Enforce', async () => {
  const page = new DocumentedPage(NOT_ENFORCING);
  const patch = ['patch', 'mcguard', 'cluster', '--type=merge', '-p', '{"spec":{"mode":"Audit"}}'];
  await kubectlOk(controlPlane, [...patch, '--field-manager=night-shift']);

  const [{ stdout }] = await page.run(shell, { heading: 'Diagnosis' });
  type ManagedFields = { readonly fieldsV1: { readonly 'f:spec'?: object } };
  const { metadata } = parse(stdout) as { readonly metadata: { readonly managedFields: readonly ManagedFields[] } };
  const changes = metadata.managedFields.filter(({ fieldsV1 }) => 'f:mode' in (fieldsV1['f:spec'] ?? {}));
  expect(changes).toMatchObject([{ manager: 'night-shift', time: expect.stringMatching(/^\d{4}-.*Z$/) }]);

  await page.run(shell, { heading: 'Mitigation' });
  expect((await cluster.admin.find(PATHS.guard))?.spec).toMatchObject({ mode: 'Enforce' });
  expect(page.remaining).toEqual([]);
});
