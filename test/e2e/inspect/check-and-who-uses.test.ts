import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeEach, expect, test } from 'vitest';

import { checkCluster, type CheckReport } from '../../../src/cli/check/check-cluster.ts';
import type { ReferencesReport } from '../../../src/cli/who-uses/references-report.ts';
import { KubeApi } from '../../../src/kube/api.ts';
import { connectionFromKubeconfig } from '../../../src/kube/connection.ts';
import { kubeconfig } from '../control-plane/control-plane.ts';
import { pause } from '../control-plane/until.ts';
import { unique } from '../support/cluster.ts';
import { renderedName } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import { createServiceAccount, type Rule } from '../support/service-account.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';
import { Shell } from '../support/shell.ts';
import { createIncidentB, INCIDENT_B } from './incident-b.ts';

const MCO = 'machineconfiguration.openshift.io';
const READ_ONLY: readonly Rule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list'] },
  {
    apiGroups: [MCO],
    resources: ['machineconfigs', 'machineconfigpools', 'machineosbuilds'],
    verbs: ['get', 'list'],
  },
  { apiGroups: ['machineconfig-guard.io'], resources: ['machineconfigguards'], verbs: ['get'] },
];
const REQUESTS: Rule = {
  apiGroups: ['certificates.k8s.io'],
  resources: ['certificatesigningrequests'],
  verbs: ['get', 'list'],
};

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;
const { admin } = cluster;
const admins = await Shell.open(controlPlane);
const { url, connection } = controlPlane.apiServer;
const api = new KubeApi(
  connectionFromKubeconfig(kubeconfig(url, controlPlane.caCertificate, { token: connection.token ?? '' })),
);

beforeEach(() => installed.clear());
afterAll(async () => {
  api.close();
  await installed.clear();
});

/** A shell with these rights and no others. */
async function openShell(rules: readonly Rule[], name = unique('reader')): Promise<Shell> {
  const token = await createServiceAccount(admin, name, rules);
  const file = join(controlPlane.directory, `${name}.kubeconfig`);
  const { apiServer, caCertificate } = controlPlane;
  await writeFile(file, kubeconfig(apiServer.url, caCertificate, { token }), { mode: 0o600 });
  return Shell.open(controlPlane, file);
}

test('check finds the problems and the pending request, and its last resort works', async () => {
  await createIncidentB(cluster);
  const shell = await openShell([...READ_ONLY, REQUESTS]);

  const { exitCode, stdout, stderr } = await shell.run('machineconfig-guard check --output json');

  expect([exitCode, stderr]).toEqual([1, '']);
  const { recoverable, problems, pendingCertificateRequests } = JSON.parse(stdout) as CheckReport;
  expect(recoverable).toBe(false);
  const missing = {
    code: 'ConfigMissing',
    kind: 'Node',
    config: INCIDENT_B.missing,
    recoverable: false,
    suggestion: null,
  };
  expect(problems).toMatchObject([
    ...INCIDENT_B.masters.flatMap((name) => [
      { ...missing, name, field: 'currentConfig' },
      { ...missing, name, field: 'desiredConfig' },
    ]),
    { code: 'StatusEmpty', name: 'master', field: 'status', recoverable: false },
  ]);
  expect(pendingCertificateRequests.requests).toMatchObject([{ node: INCIDENT_B.waiting }]);

  const page = await shell.run('machineconfig-guard check');
  expect(page.stdout).toContain(`machineconfig-guard restore ${INCIDENT_B.missing} --from node/`);
  const repairs = [...page.stdout.matchAll(/^ {2}(?:# )?(?<command>oc (?:.*\\\n)*.*)$/gm)];
  expect(repairs).toHaveLength(2);
  for (const { groups } of repairs) {
    // The command without oc is `kubectl certificate`.
    const lines = (groups?.['command'] ?? '').replaceAll('\n  #', '\n');
    const command = lines.replace(/^oc adm /, 'oc ');
    expect(await admins.run(command)).toMatchObject({ exitCode: 0 });
  }
  const { stdout: repaired } = await shell.run('machineconfig-guard check --output json');
  // The operator sets the status once the machines run the config.
  expect((JSON.parse(repaired) as CheckReport).problems).toMatchObject([{ code: 'StatusEmpty', recoverable: true }]);
});

test('check and the guard skip the nodes that the operator does not manage', async () => {
  const [used, unused, other] = [await cluster.config(), await cluster.config(), await cluster.config()] as const;
  await cluster.node({ currentConfig: used, desiredConfig: used });
  await cluster.pool({ name: 'worker', spec: used, status: used });
  const [linux, windows] = [await cluster.unmanagedNode('linux'), await cluster.unmanagedNode('windows')];

  const { exitCode, stdout } = await admins.run('machineconfig-guard check');
  expect(exitCode).toBe(0);
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`does not manage: ${linux} and ${windows}.`);
  expect((await cluster.expectAllowed(unused)).warnings).toEqual([]);

  const annotations = { [`${MCO}/currentConfig`]: other };
  await admin.patch(`${PATHS.nodes}/${windows}`, { metadata: { annotations } });
  await cluster.expectDenied(other, [{ kind: 'Node', name: windows, field: 'currentConfig' }]);
});

test('check finds a config that a node moves to while it is being deleted', async () => {
  const [other, config] = [await cluster.config(), await cluster.config()];
  const path = `${PATHS.configs}/${config}`;
  await admin.patch(path, { metadata: { finalizers: ['example.com/hold'] } });
  const node = await cluster.node({ currentConfig: other, desiredConfig: other });
  await cluster.pool({ name: 'worker', spec: other, status: other });
  expect((await cluster.delete(config)).status).toBe(200);
  expect((await admin.find(path))?.metadata.deletionTimestamp).toBeDefined();
  expect((await checkCluster(api)).problems).toEqual([]);

  await cluster.moveNode(node, { desiredConfig: config });

  const problem = { kind: 'Node', name: node, field: 'desiredConfig', config, recoverable: false };
  expect((await checkCluster(api)).problems).toMatchObject([{ ...problem, code: 'ConfigTerminating' }]);
  const page = await admins.run('machineconfig-guard check');
  expect(page.exitCode).toBe(1);
  expect(page.stdout.replaceAll(/\s+/g, ' ')).toContain(
    `${config} is in use and being deleted; node ${node} names it.`,
  );
  await admin.patch(path, { metadata: { finalizers: null } });
  expect((await checkCluster(api)).problems).toMatchObject([{ ...problem, code: 'ConfigMissing' }]);
});

test('check names who deleted a config that a node names afterwards', async () => {
  const [used, deleted] = [await cluster.config(), await cluster.config()];
  const node = await cluster.node({ currentConfig: used, desiredConfig: used });
  await cluster.pool({ name: 'worker', spec: used, status: used });
  await cluster.expectAllowed(deleted);
  await cluster.moveNode(node, { desiredConfig: deleted });

  const readProblems = async () => (await checkCluster(api)).problems;
  const deletedAt: unknown = expect.stringMatching(/^20\d\d-\S+Z$/);
  await expect
    .poll(readProblems, { timeout: 30_000 })
    .toMatchObject([{ code: 'ConfigMissing', config: deleted, deletedAt, deletedBy: 'admin' }]);
  const { stdout } = await admins.run('machineconfig-guard check');
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('The guard allowed "admin" to delete it at 20');
  expect(stdout).toMatch(/^ {2}machineconfig-guard restore /m);
}, 60_000);

test('check and the metric accept the first roll-out of a custom pool for 30 minutes', async () => {
  const [worker, infra] = [await cluster.config(), await cluster.config({ name: renderedName('infra') })] as const;
  const configs = { currentConfig: worker, desiredConfig: worker };
  const nodes = [
    await cluster.node({ ...configs, role: 'infra' }),
    await cluster.node({ ...configs, role: 'infra' }),
  ] as const;
  await cluster.pool({ name: 'worker', spec: worker, status: worker });
  const path = `${PATHS.pools}/infra`;
  /** Writes the status as the operator does (machine-config-operator, pkg/controller/node/status.go). */
  const setStatus = async (updated: number, minutesAgo = 0) => {
    const lastTransitionTime = new Date(Date.now() - minutesAgo * 60_000).toISOString();
    const isUpdated = updated === nodes.length;
    const toCondition = (type: string, isTrue: boolean) => ({
      type,
      status: isTrue ? 'True' : 'False',
      lastTransitionTime,
      reason: '',
      message: isTrue ? `All nodes are ${type.toLowerCase()} with ${infra}` : '',
    });
    const status = {
      configuration: isUpdated ? { name: infra } : {},
      machineCount: nodes.length,
      updatedMachineCount: updated,
      readyMachineCount: updated,
      unavailableMachineCount: isUpdated ? 0 : 1,
      degradedMachineCount: 0,
      conditions: [toCondition('Updated', isUpdated), toCondition('Updating', !isUpdated)],
    };
    await admin.patch(`${path}/status`, { status });
  };
  const expectProblems = async (...codes: readonly string[]) => {
    const { problems } = await checkCluster(api);
    expect(problems.map(({ code, name }) => `${code} ${name}`)).toEqual(codes.map((code) => `${code} infra`));
  };
  const readCount = () => installed.readMetric('mcguard_dangling_references');
  await expect.poll(readCount, { timeout: 10_000 }).toBe(0);

  await cluster.pool({ name: 'infra' });
  await expectProblems('SpecEmpty');
  await admin.patch(path, { spec: { configuration: { name: infra } } });
  await expectProblems();
  await setStatus(0);
  await cluster.moveNode(nodes[0], { desiredConfig: infra });
  await expectProblems();
  // oxlint-disable-next-line house/no-clock -- The detector checks every second and reports no check without a finding.
  await pause(1_500);
  expect(await readCount()).toBe(0);
  await cluster.moveNode(nodes[0], { currentConfig: infra });
  await setStatus(1);
  await expectProblems();

  await setStatus(1, 31);
  await expectProblems('RolloutUnfinished');
  await expect.poll(readCount, { timeout: 10_000 }).toBe(1);

  await cluster.moveNode(nodes[1], { currentConfig: infra, desiredConfig: infra });
  await setStatus(2);
  await expectProblems();
  await expect.poll(readCount, { timeout: 10_000 }).toBe(0);
}, 60_000);

test('who-uses needs only get and list, and lists unused configs', async () => {
  const [old, used, built, unused] = ['infra-d', 'worker-a', 'worker-b', 'worker-c'].map(
    (name) => `rendered-${name}4983d88dabdc54ecf977ee120fd3796`,
  ) as [string, string, string, string];
  await cluster.config({ name: old, bytes: 1_200_000 });
  // Creation times have whole seconds.
  await pause(1_100);
  for (const name of [used, built, unused, '99-worker-ssh']) await cluster.config({ name });
  await cluster.node({ name: 'worker0', currentConfig: used, desiredConfig: used });
  await cluster.pool({ name: 'worker', spec: used, status: used });
  const build = await cluster.build(built, 'Building');
  const user = unique('reader');
  const shell = await openShell(READ_ONLY, user);

  const referrers = await shell.run(`machineconfig-guard who-uses ${used} ${built}`);
  expect(referrers).toMatchObject({ exitCode: 0, stderr: '' });
  expect(referrers.stdout).toMatch(/^Node +worker0 +currentConfig, desiredConfig +yes$/m);
  expect(referrers.stdout).toMatch(/^MachineConfigPool +worker +spec, status +yes$/m);
  expect(referrers.stdout).toContain(build);
  const { exitCode } = await shell.run(`machineconfig-guard who-uses ${unused}`);
  expect(exitCode).toBe(1);
  const { stdout } = await shell.run('machineconfig-guard who-uses --unused --output json');
  const report = JSON.parse(stdout) as ReferencesReport;
  expect(report.configs.map(({ name, pool }) => [name, pool])).toEqual([
    [old, 'infra'],
    [unused, 'worker'],
  ]);
  expect(report.configs[0]?.sizeBytes).toBeGreaterThan(1_200_000);

  const requests = await cluster.auditLog.events((event) => event.user.username.endsWith(`:${user}`));
  expect(new Set(requests.map(({ verb }) => verb))).toEqual(new Set(['get', 'list']));
  const codes = requests.map(({ responseStatus }) => responseStatus?.code);
  expect(new Set(codes)).toEqual(new Set([200]));
});

test('as kubectl, prints the versions, impersonates, and rejects a wrong selector', async () => {
  const version = await admins.run('machineconfig-guard version -o json');
  expect([version.exitCode, version.stderr]).toEqual([0, '']);
  expect(JSON.parse(version.stdout)).toMatchObject({
    kubernetesVersion: expect.stringMatching(/^v1\.\d+/) as string,
  });
  expect(await admins.run('machineconfig-guard --as nobody who-uses')).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining('denies you "list" on machineconfigs.') as string,
  });
  expect(await admins.run('machineconfig-guard check -l a=b=c')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("(--role, --selector): found '=', expected: ','") as string,
  });
});
