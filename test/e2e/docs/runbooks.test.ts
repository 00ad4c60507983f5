import { afterAll, expect, test } from 'vitest';

import { toPausePatch } from '../../../src/client/paused-for-restore.ts';
import { createConfigOnDisk } from '../../support/config-on-disk.ts';
import { ExecServer } from '../../support/exec-server.ts';
import { createDaemonPod, setNodeState } from '../restore/machines.ts';
import { sharedInstalledNodeCluster } from '../node/shared-node-cluster.ts';
import { DocumentedPage, PAGES, type PageSelection } from '../support/documented-page.ts';
import { GUARD_USER } from '../support/guarded-cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { poolStatus } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import { Shell } from '../support/shell.ts';

const CONFIG = 'rendered-worker-a1a2c3d4e5f60718293a4b5c6d7e8f90';
const SOON = { timeout: 20_000 };

const installed = await sharedInstalledNodeCluster();
const { cluster, controlPlane, replicas: pods } = installed;
const shell = await Shell.open(controlPlane);
const pages = new Map(PAGES.runbooks.map((file) => [file, new DocumentedPage(file)]));

await installed.clear();
// The console looks for dashboards in this namespace.
await kubectlOk(controlPlane, ['create', 'namespace', 'openshift-config-managed']);
await cluster.config({ name: CONFIG });
await cluster.node({ name: 'worker-0', currentConfig: CONFIG, desiredConfig: CONFIG });
await cluster.pool({ name: 'worker', spec: CONFIG, status: CONFIG });

afterAll(() => installed.clear());

/** Runs commands of a runbook and returns their results. */
async function run(alert: string, selection: PageSelection = {}) {
  const runbook = pages.get(`docs/runbooks/MachineConfigGuard${alert}.md`);
  const page = runbook ?? pages.get(`docs/${alert}.md`) ?? expect.fail(`no page ${alert}`);
  return page.run(shell, selection);
}

async function readStdout(line: string): Promise<string> {
  return (await shell.run(line)).stdout;
}

async function dryRunStatus(): Promise<number> {
  return (await cluster.dryRun(CONFIG)).status;
}

test('docs/monitoring.md installs the guard with monitoring', async () => {
  await run('monitoring');

  await expect(installed.awaitGuard()).resolves.toBeUndefined();
});

test('the runbook Absent shows the log of the pods', async () => {
  const results = await run('Absent');
  expect(results[2]?.stdout).toMatch(/^\[pod\/machineconfig-guard-\S+\/guard\] \{"level":/m);
});

test('the runbook CertificateExpiring shows the certificate and its Secret', async () => {
  const [log, secrets] = await run('CertificateExpiring');
  expect(log.stdout).toMatch(/serving certificate/);
  expect(secrets?.stdout).toContain('kubernetes.io/tls');
});

test('the runbook DanglingReference shows the reference', async () => {
  const missing = 'rendered-worker-b1a2c3d4e5f60718293a4b5c6d7e8f90';
  const node = await cluster.node({ currentConfig: missing, desiredConfig: CONFIG });
  const count = () => readStdout('oc get mcguard cluster -o jsonpath={.status.danglingCount}');
  await expect.poll(count, SOON).toBe('1');

  const [references, check] = await run('DanglingReference', {
    heading: 'Diagnosis',
    exitCodes: { 'machineconfig-guard check': 1 },
  });

  expect(references.stdout).toBe(`Node ${node} currentConfig ${missing}\n`);
  expect(check?.stdout).toContain(missing);
  await cluster.admin.delete(`${PATHS.nodes}/${node}`);
});

test('the runbook DanglingReference restores a config that was never in the API', async () => {
  const missing = createConfigOnDisk('worker');
  const disk = await ExecServer.start(() => ({ stdout: missing.text }));
  const node = { name: 'control1.gw.lo', currentConfig: missing.name, desiredConfig: missing.name };
  await cluster.node(node);
  await createDaemonPod(cluster, node.name, disk.port);
  await setNodeState(cluster, node.name, 'Degraded');
  await cluster.admin.patch(`${PATHS.pools}/worker/status`, {
    status: { configuration: { name: '' }, updatedMachineCount: 0 },
  });

  const runLines = (start: string) =>
    run('DanglingReference', { heading: 'Mitigation', isWanted: (line) => line.startsWith(start) });
  const restoreLine = 'machineconfig-guard restore --from node/control1.gw.lo';
  const [{ stdout: plan }] = await run('DanglingReference', { isWanted: (line) => line === restoreLine });
  expect(plan).toMatch(/^ {2}1\. pause pool worker$/m);

  const restored = runLines(`${restoreLine} --confirm`);
  await expect.poll(() => cluster.exists(missing.name), SOON).toBe(true);
  await runLines('oc get csr');
  await setNodeState(cluster, node.name, 'Done');
  expect((await restored)[0].stdout).toContain('Restored.');

  await runLines('machineconfig-guard check --wait');
  disk.stop();
  await cluster.admin.delete(`${PATHS.nodes}/${node.name}`);
  await cluster.admin.patch(`${PATHS.pools}/worker/status`, poolStatus(CONFIG));
});

test('the runbooks DanglingReference and RestoreStalled show a pool that a restore has left paused', async () => {
  await cluster.admin.patch(`${PATHS.pools}/worker`, toPausePatch(CONFIG));
  // The guard then does not know since when the pool is paused, and reports it at once.
  await cluster.admin.patch(`${PATHS.pools}/worker`, { metadata: { managedFields: [{}] } });
  const isPaused = (line: string) => line.includes('paused-for-restore');
  const [pools] = await run('DanglingReference', { heading: 'Mitigation', isWanted: isPaused });
  expect(pools.stdout).toMatch(new RegExp(`^worker +true +${CONFIG}$`, 'm'));
  const type = 'RestoresComplete';
  const path = `{.status.conditions[?(@.type=="${type}")].status}`;
  await expect.poll(() => readStdout(`oc get mcguard cluster -o jsonpath='${path}'`), SOON).toBe('False');

  const [message, check] = await run('RestoreStalled', { exitCodes: { 'machineconfig-guard check': 1 } });

  expect(message.stdout).toContain('worker');
  const [unpause = ''] =
    /oc patch machineconfigpool worker [^]*?(?<!\\)$/m.exec(check?.stdout ?? '') ?? [];
  await shell.run(unpause);
  await expect(readStdout('machineconfig-guard check')).resolves.toContain('Fine');
});

test('the runbook DenialBurst shows the Event of a denial', async () => {
  expect((await cluster.delete(CONFIG)).status).toBe(403);
  await cluster.awaitEvent(CONFIG);

  const [{ stdout }] = await run('DenialBurst');

  expect(stdout).toMatch(new RegExp(`DeletionDenied +machineconfig/${CONFIG} .*MCG_IN_USE`));
});

test('the runbook NotEnforcing shows who changed the mode, and changes it back', async () => {
  await shell.run(`oc patch mcguard cluster --type merge -p '{"spec":{"mode":"Audit"}}'`);
  await expect.poll(dryRunStatus, SOON).toBe(200);
  const readMode = () => readStdout('oc get mcguard cluster -o jsonpath={.status.mode}');
  await expect.poll(readMode, SOON).toBe('Audit');

  const [table, changes] = await run('NotEnforcing', { heading: 'Diagnosis' });
  expect(table.stdout).toMatch(/^cluster +Audit /m);
  expect(changes?.stdout).toMatch(/^20\d\d-\S+ admin$/m);

  await run('NotEnforcing', { heading: 'Mitigation' });
  await expect.poll(dryRunStatus, SOON).toBe(403);
});

test('the runbooks Unverified and IndexStale show the loss of the rights', async () => {
  const unused = await cluster.config();
  await installed.withoutRights(async () => {
    expect((await cluster.dryRun(unused)).status).toBe(503);
    // A restarted replica cannot list anything. After SIGTERM the leader releases its Lease.
    const [pod] = await pods.list();
    if (pod !== undefined) await pods.signal(pod, 'SIGTERM');

    const canList = `oc auth can-i list nodes --as=${GUARD_USER}`;
    const [log, ready, rights] = await run('Unverified', { exitCodes: { [canList]: 1 } });
    expect(log.stdout).toContain(`could not verify whether ${unused} is in use`);
    expect(ready?.stdout).toContain('readyz check passed');
    expect(rights?.stdout.trim()).toBe('no');

    const readLog = async () => (await run('IndexStale'))[0].stdout;
    await expect.poll(readLog, SOON).toContain('cannot watch nodes: the API server answered 403');
  });
  await installed.awaitGuard();
}, 120_000);

test('the runbooks Unreachable and FailedOpen, and verify, show an outage', async () => {
  const setFailurePolicy = (value: string) => {
    const patch = [{ op: 'replace', path: '/webhooks/0/failurePolicy', value }];
    const extras = { contentType: 'application/json-patch+json' };
    return cluster.admin.request('PATCH', PATHS.guardWebhook, patch, extras);
  };
  await cluster.admin.patch(PATHS.deployment, { spec: { replicas: 0 } });
  await expect.poll(dryRunStatus, SOON).toBe(500);

  const [verified] = await run('Unreachable', { exitCodes: { 'machineconfig-guard verify': 1 } });
  expect(verified.stdout).toContain('no endpoints available for service');
  expect(verified.stdout).toContain('is denied because no guard pod is ready');

  await setFailurePolicy('Ignore');
  await expect.poll(dryRunStatus, SOON).toBe(200);
  const [audited] = await run('FailedOpen');
  expect(audited.stdout).toContain('"failed-open.validating.webhook.admission.k8s.io/');
  expect(audited.stdout).toContain(CONFIG);
  const failOpen = await readStdout('machineconfig-guard verify');
  expect(failOpen).toContain('its failurePolicy is Ignore');

  await cluster.admin.patch(PATHS.deployment, { spec: { replicas: 2 } });
  await setFailurePolicy('Fail');
  await installed.awaitGuard();
}, 120_000);

test('docs/codes.md deletes a config by its annotation', async () => {
  await run('codes');
  expect(await cluster.exists(CONFIG)).toBe(false);
  expect([...pages.values()].flatMap(({ remaining }) => remaining)).toEqual([]);
});
