import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeEach, expect, test } from 'vitest';

import type { CheckReport } from '../../../src/inspect/check-report.ts';
import type { UnusedReport } from '../../../src/inspect/references-report.ts';
import { kubeconfig } from '../control-plane/control-plane.ts';
import { pause } from '../control-plane/until.ts';
import { unique } from '../support/cluster.ts';
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

beforeEach(() => installed.clear());
afterAll(() => installed.clear());

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
  const { canHeal, problems, pendingCertificateRequests } = JSON.parse(stdout) as CheckReport;
  expect(canHeal).toBe(false);
  const missing = {
    code: 'ConfigMissing',
    kind: 'Node',
    config: INCIDENT_B.missing,
    canHeal: false,
    suggestion: null,
  };
  expect(problems).toMatchObject([
    ...INCIDENT_B.masters.flatMap((name) => [
      { ...missing, name, field: 'currentConfig' },
      { ...missing, name, field: 'desiredConfig' },
    ]),
    { code: 'StatusEmpty', name: 'master', field: 'status', canHeal: false },
  ]);
  expect(pendingCertificateRequests.requests).toMatchObject([{ node: INCIDENT_B.waiting }]);

  const page = await shell.run('machineconfig-guard check');
  expect(page.stdout).toContain(`machineconfig-guard restore ${INCIDENT_B.missing} --from node/`);
  const repairs = [...page.stdout.matchAll(/^ {2}(?<command>oc (?:.*\\\n)*.*)$/gm)];
  expect(repairs).toHaveLength(2);
  for (const { groups } of repairs) {
    // The command without oc is `kubectl certificate`.
    const command = (groups?.['command'] ?? '').replace(/^oc adm /, 'oc ');
    expect(await admins.run(command)).toMatchObject({ exitCode: 0 });
  }
  const { stdout: repaired } = await shell.run('machineconfig-guard check --output json');
  // The operator sets the status once the machines run the config.
  expect((JSON.parse(repaired) as CheckReport).problems).toMatchObject([
    { code: 'StatusEmpty', canHeal: true },
  ]);
});

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
  expect(referrers.stdout).toMatch(/^Node +worker0 +currentConfig, desiredConfig +hard$/m);
  expect(referrers.stdout).toMatch(/^MachineConfigPool +worker +spec, status +hard$/m);
  expect(referrers.stdout).toContain(build);
  const { exitCode } = await shell.run(`machineconfig-guard who-uses ${unused}`);
  expect(exitCode).toBe(1);
  const { stdout } = await shell.run('machineconfig-guard who-uses --unused --output json');
  const report = JSON.parse(stdout) as UnusedReport;
  expect(report.unused.map(({ name, pool }) => [name, pool])).toEqual([
    [old, 'infra'],
    [unused, 'worker'],
  ]);
  expect(report.unused[0]?.sizeBytes).toBeGreaterThan(1_200_000);

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
    guardImage: expect.stringContaining('machineconfig-guard') as string,
  });
  expect(await admins.run('machineconfig-guard --as nobody who-uses')).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining('denies you "list" on nodes; check with: oc auth can-i') as string,
  });
  const groups = '--as nobody --as-group system:masters';
  expect(await admins.run(`machineconfig-guard who-uses ${groups}`)).toMatchObject({ exitCode: 0 });
  expect(await admins.run('machineconfig-guard check -l a=b=c')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining(
      'invalid label selector (--role, --selector): unable to parse',
    ) as string,
  });
});
