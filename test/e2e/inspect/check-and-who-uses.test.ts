import { mkdtemp, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { afterAll, beforeEach, expect, test } from 'vitest';

import { checkCluster } from '../../../src/cli/check/check-cluster.ts';
import type { ReferencesReport } from '../../../src/cli/who-uses/references-report.ts';
import { createConfigOnDisk } from '../../support/config-on-disk.ts';
import { unique } from '../support/cluster.ts';
import type { Rule } from '../control-plane/kube-client.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';
import { Shell } from '../support/shell.ts';

const READ_ONLY: readonly Rule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list'] },
  {
    apiGroups: ['machineconfiguration.openshift.io'],
    resources: ['machineconfigs', 'machineconfigpools', 'machineosbuilds'],
    verbs: ['get', 'list'],
  },
  { apiGroups: ['machineconfig-guard.io'], resources: ['machineconfigguards'], verbs: ['get'] },
];

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;
const admins = await Shell.open(controlPlane);
const api = controlPlane.connectApi();

beforeEach(() => installed.clear());
afterAll(async () => {
  api.close();
  await installed.clear();
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
    .poll(readProblems)
    .toMatchObject([{ code: 'ConfigMissing', config: deleted, deletedAt, deletedBy: 'admin' }]);
  const { stdout } = await admins.run('machineconfig-guard check');
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('The guard allowed "admin" to delete it at 20');
  expect(stdout).toMatch(/^ {2}oc annotate node \S+ --overwrite .*\n.*desiredConfig=/m);
});

test('who-uses and check --bootstrap-dir need only get and list', async () => {
  const [old, used, built, unused] = ['infra-d', 'worker-a', 'worker-b', 'worker-c'].map(
    (name) => `rendered-${name}4983d88dabdc54ecf977ee120fd3796`,
  ) as [string, string, string, string];
  await cluster.config({ name: old });
  for (const name of [used, built, unused, '99-worker-ssh']) await cluster.config({ name });
  await cluster.node({ name: 'worker0', currentConfig: used, desiredConfig: used });
  await cluster.pool({ name: 'worker', spec: used, status: used });
  const build = await cluster.build(built, 'Building');
  const user = unique('reader');
  const shell = await Shell.openAs(controlPlane, READ_ONLY, user);

  const referrers = await shell.run(`machineconfig-guard who-uses ${used} ${built}`);
  expect(referrers).toMatchObject({ exitCode: 0, stderr: '' });
  expect(referrers.stdout).toMatch(/^Node +worker0 +currentConfig, desiredConfig +yes$/m);
  expect(referrers.stdout).toMatch(/^MachineConfigPool +worker +spec, status +yes$/m);
  expect(referrers.stdout).toContain(build);
  const { exitCode } = await shell.run(`machineconfig-guard who-uses ${unused}`);
  expect(exitCode).toBe(1);
  const directory = await mkdtemp(path.join(controlPlane.directory, 'bootstrap-'));
  await writeFile(path.join(directory, 'a.yaml'), createConfigOnDisk('worker').bootstrapText);
  expect((await shell.run(`machineconfig-guard check --bootstrap-dir ${directory}`)).exitCode).toBe(0);
  const { stdout } = await shell.run('machineconfig-guard who-uses --unused --output json');
  const report = JSON.parse(stdout) as ReferencesReport;
  expect(report.configs.map(({ name }) => name).toSorted()).toEqual([old, unused]);

  const requests = await cluster.auditEvents((event) => event.user.username.endsWith(`:${user}`));
  expect(new Set(requests.map(({ verb }) => verb))).toEqual(new Set(['get', 'list']));
  const codes = requests.map(({ responseStatus }) => responseStatus?.code);
  expect(new Set(codes)).toEqual(new Set([200]));
});

test('as kubectl, impersonates, and rejects a wrong selector', async () => {
  expect(await admins.run('machineconfig-guard --as nobody who-uses')).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining('denies you "list" on machineconfigs.') as string,
  });
  expect(await admins.run('machineconfig-guard check -l a=b=c')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("(--role, --selector): found '=', expected: ','") as string,
  });
});
