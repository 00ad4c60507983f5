import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { pause, until } from '../control-plane/until.ts';
import { DocumentedPage } from '../support/documented-page.ts';
import { foreignCrds } from '../support/go-module.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { Shell } from '../support/shell.ts';

const PAGES = {
  absent: DocumentedPage.read('docs/runbooks/MachineConfigGuardAbsent.md'),
  certificateExpiring: DocumentedPage.read('docs/runbooks/MachineConfigGuardCertificateExpiring.md'),
  codes: DocumentedPage.read('docs/codes.md'),
  danglingReference: DocumentedPage.read('docs/runbooks/MachineConfigGuardDanglingReference.md'),
  denialBurst: DocumentedPage.read('docs/runbooks/MachineConfigGuardDenialBurst.md'),
  failedOpen: DocumentedPage.read('docs/runbooks/MachineConfigGuardFailedOpen.md'),
  indexStale: DocumentedPage.read('docs/runbooks/MachineConfigGuardIndexStale.md'),
  monitoring: DocumentedPage.read('docs/monitoring.md'),
  notEnforcing: DocumentedPage.read('docs/runbooks/MachineConfigGuardNotEnforcing.md'),
  unreachable: DocumentedPage.read('docs/runbooks/MachineConfigGuardUnreachable.md'),
  unverified: DocumentedPage.read('docs/runbooks/MachineConfigGuardUnverified.md'),
} as const;

const CONFIG = 'rendered-worker-a1a2c3d4e5f60718293a4b5c6d7e8f90';
const BINDING = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/machineconfig-guard';
const DEPLOYMENT = '/apis/apps/v1/namespaces/machineconfig-guard/deployments/machineconfig-guard';
/** Within which a change of the mode works on every replica. */
const EFFECT_MS = 2_000;
const CHECK = 'machineconfig-guard check';

let installed: InstalledCluster;
let shell: Shell;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries());
  const { cluster, controlPlane } = installed;
  for (const crd of await foreignCrds('prometheus-operator')) await cluster.admin.create(PATHS.crds, crd);
  // The console looks for dashboards there.
  await kubectlOk(controlPlane, ['create', 'namespace', 'openshift-config-managed']);
  shell = await Shell.open(controlPlane);
  await until(
    'monitoring, applied as the page says',
    async () => (await shell.type('oc get servicemonitors,prometheusrules -A')).exitCode === 0,
    { timeoutMs: 20_000 },
  );
  await PAGES.monitoring.type(shell);
  await installed.awaitGuard();
  // Nothing but what a cluster has that is well.
  for (const { metadata } of await cluster.admin.list(PATHS.nodes)) {
    await cluster.admin.delete(`${PATHS.nodes}/${metadata.name}`);
  }
  await cluster.config({ name: CONFIG });
  await cluster.node({ name: 'worker-0', currentConfig: CONFIG, desiredConfig: CONFIG });
  await cluster.pool({ name: 'worker', spec: CONFIG, status: CONFIG });
}, 120_000);

afterAll(() => installed.stop());

/** What the guard does with a deletion of what is in use, as an HTTP status. */
async function answer(): Promise<number> {
  return (await installed.dryRun(CONFIG)).status;
}

test('MachineConfigGuardAbsent', async () => {
  const typed = await PAGES.absent.type(shell);
  expect(typed[2]?.stdout).toContain('"msg":"ready"');
});

test('MachineConfigGuardCertificateExpiring', async () => {
  const [log, secrets] = await PAGES.certificateExpiring.type(shell);
  expect(log.stdout).toMatch(/serving certificate/);
  expect(secrets?.stdout).toContain('kubernetes.io/tls');
});

test('MachineConfigGuardDanglingReference', async () => {
  const missing = 'rendered-worker-b1a2c3d4e5f60718293a4b5c6d7e8f90';
  const node = await installed.cluster.node({ currentConfig: missing, desiredConfig: CONFIG });
  await expect
    .poll(async () => (await shell.type('oc get mcguard cluster -o jsonpath={.status.danglingCount}')).stdout, {
      timeout: 20_000,
    })
    .toBe('1');

  const [references, check] = await PAGES.danglingReference.type(shell, { exitCodes: { [CHECK]: 1 } });

  expect(references.stdout).toBe(`Node ${node} currentConfig ${missing}\n`);
  expect(check?.stdout).toContain(missing);
  await installed.cluster.admin.delete(`${PATHS.nodes}/${node}`);
});

test('MachineConfigGuardDenialBurst', async () => {
  expect((await installed.cluster.delete(CONFIG)).status).toBe(403);
  await installed.cluster.awaitEvent(CONFIG);

  const [{ stdout }] = await PAGES.denialBurst.type(shell);

  expect(stdout).toMatch(new RegExp(`DeletionDenied +machineconfig/${CONFIG} .*MCG_IN_USE`));
});

test('MachineConfigGuardNotEnforcing', async () => {
  await shell.type(`oc patch mcguard cluster --type merge -p '{"spec":{"mode":"Audit"}}'`);
  await expect.poll(answer, { timeout: 5_000 }).toBe(200);
  // The status follows a moment later.
  const shown = 'oc get mcguard cluster -o jsonpath={.status.mode}';
  await expect.poll(async () => (await shell.type(shown)).stdout, { timeout: 5_000 }).toBe('Audit');

  const [table, fields] = await PAGES.notEnforcing.type(shell, { under: 'Diagnosis' });
  expect(table.stdout).toMatch(/^cluster +Audit /m);
  // Who changed it, and when.
  expect(fields?.stdout).toMatch(/manager: kubectl-patch/);
  expect(fields?.stdout).toMatch(/time: "20\d\d-/);

  await PAGES.notEnforcing.type(shell, { under: 'Mitigation' });
  await pause(EFFECT_MS);
  expect(await answer()).toBe(403);
});

test('MachineConfigGuardUnverified and MachineConfigGuardIndexStale: the guard has lost its rights', async () => {
  const { cluster, kubelet } = installed;
  const binding = await cluster.admin.find(BINDING);
  await cluster.admin.delete(BINDING);
  const free = await cluster.config();
  await expect.poll(async () => (await installed.dryRun(free)).status, { timeout: 10_000 }).toBe(503);
  // One of the two begins anew, and cannot even read.
  kubelet.pods[0]?.signal('SIGKILL');

  const auth = 'oc auth can-i list nodes --as=system:serviceaccount:machineconfig-guard:machineconfig-guard';
  const [log, ready, rights] = await PAGES.unverified.type(shell, { exitCodes: { [auth]: 1 } });
  expect(log.stdout).toContain(`could not verify whether ${free} is in use`);
  expect(ready?.stdout).toContain('readyz check passed');
  expect(rights?.stdout.trim()).toBe('no');

  const stale =
    "oc logs -n machineconfig-guard -l app.kubernetes.io/name=machineconfig-guard --prefix --tail=-1 | grep 'cannot follow'";
  await expect.poll(async () => (await shell.type(stale)).exitCode, { timeout: 20_000 }).toBe(0);
  const [following] = await PAGES.indexStale.type(shell);
  expect(following.stdout).toContain('cannot follow nodes: the API server answered 403');

  await cluster.admin.create(dirname(BINDING), { ...binding, metadata: { name: 'machineconfig-guard' } });
  await kubelet.settled();
  await expect.poll(async () => (await installed.dryRun(free)).status, { timeout: 20_000 }).toBe(200);
}, 120_000);

test('MachineConfigGuardUnreachable, and MachineConfigGuardFailedOpen when it is to fail open', async () => {
  const { cluster, kubelet } = installed;
  const failurePolicy = (value: string) =>
    shell.type(
      `oc patch validatingwebhookconfiguration machineconfig-guard --type json -p '[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"${value}"}]'`,
    );
  await cluster.admin.patch(DEPLOYMENT, { spec: { replicas: 0 } });
  await expect.poll(answer, { timeout: 20_000 }).toBe(500);

  const [verified] = await PAGES.unreachable.type(shell, { exitCodes: { 'machineconfig-guard verify': 1 } });
  expect(verified.stdout).toContain('no endpoints available for service "machineconfig-guard"');

  await failurePolicy('Ignore');
  await expect.poll(answer, { timeout: 20_000 }).toBe(200);

  const [audited] = await PAGES.failedOpen.type(shell);

  expect(audited.stdout).toMatch(
    /"failed-open\.validating\.webhook\.admission\.k8s\.io\/\w+":"guard\.machineconfig-guard\.io"/,
  );
  expect(audited.stdout).toContain(CONFIG);
  await cluster.admin.patch(DEPLOYMENT, { spec: { replicas: 2 } });
  await kubelet.settled();
  await failurePolicy('Fail');
  await expect.poll(answer, { timeout: 20_000 }).toBe(403);
}, 120_000);

// Last: the config goes.
test('docs/codes.md: overridden by an annotation', async () => {
  await expect.poll(answer, { timeout: 20_000 }).toBe(403);
  await PAGES.codes.type(shell);
  expect(await installed.cluster.exists(CONFIG)).toBe(false);
});

test('no runbook has been forgotten, and nothing of these pages is left', () => {
  const runbooks = readdirSync(fileURLToPath(new URL('../../../docs/runbooks', import.meta.url)));
  expect(Object.keys(PAGES)).toHaveLength(runbooks.length + 2);
  expect(Object.values(PAGES).flatMap((page) => page.left)).toEqual([]);
});
