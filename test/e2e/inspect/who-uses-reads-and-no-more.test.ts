import { afterAll, beforeAll, expect, test } from 'vitest';

import type { UnusedReport } from '../../../src/inspect/references-report.ts';
import { ControlPlane } from '../control-plane/control-plane.ts';
import { AuditLog } from '../support/audit-log.ts';
import { build, buildStatus, machineConfig } from '../support/objects.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { createNode, createPool } from './incidents.ts';
import { Inspector, READ_ONLY, type Rule } from './inspector.ts';

const MCO = 'machineconfiguration.openshift.io';
const USED = 'rendered-worker-a4983d88dabdc54ecf977ee120fd3796';
const BUILT = 'rendered-worker-b4983d88dabdc54ecf977ee120fd3796';
const OLD = 'rendered-worker-c4983d88dabdc54ecf977ee120fd3796';
const OLDER = 'rendered-infra-d4983d88dabdc54ecf977ee120fd3796';
const OLDER_BYTES = 1_200_000;

let controlPlane: ControlPlane;

beforeAll(async () => {
  controlPlane = await ControlPlane.start(await runBinaries());
  const { admin } = controlPlane.apiServer;
  await admin.create(PATHS.configs, machineConfig({ name: OLDER, bytes: OLDER_BYTES }));
  // Creation times are whole seconds.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  for (const name of [USED, BUILT, OLD, '99-worker-ssh']) await admin.create(PATHS.configs, machineConfig({ name }));
  await createNode(admin, { name: 'worker0', role: 'worker', config: USED });
  await createPool(admin, { name: 'worker', spec: USED, status: USED });
  await admin.create(PATHS.builds, build({ name: 'b0', config: BUILT }));
  await admin.patch(`${PATHS.builds}/b0/status`, buildStatus('Building'));
});

afterAll(() => controlPlane.stop());

test('used, unused, and the list of those that may be pruned, from rights to get and list', async () => {
  const inspector = await Inspector.withRights(controlPlane, READ_ONLY);

  const used = await inspector.run('who-uses', USED, BUILT);
  expect(used).toMatchObject({ exitCode: 0, stderr: '' });
  expect(used.stdout).toMatch(/^Node +worker0 +currentConfig, desiredConfig +hard$/m);
  expect(used.stdout).toMatch(/^MachineConfigPool +worker +spec, status +hard$/m);
  expect(used.stdout).toMatch(/^MachineOSBuild +b0 +machineConfig +hard$/m);
  expect(await inspector.run('who-uses', OLD)).toMatchObject({ exitCode: 1, stdout: `${OLD} is not in use.\n` });

  const unused = await inspector.run('who-uses', '--unused', '--output', 'json');
  expect(unused).toMatchObject({ exitCode: 0, stderr: '' });
  const report = JSON.parse(unused.stdout) as UnusedReport;
  expect(report.unused.map(({ name, pool }) => [name, pool])).toEqual([
    [OLDER, 'infra'],
    [OLD, 'worker'],
  ]);
  // Managed fields and the like come on top of what was sent.
  expect(report.unused[0]?.sizeBytes).toBeGreaterThan(OLDER_BYTES);
  expect(report.unused[0]?.sizeBytes).toBeLessThan(OLDER_BYTES + 5_000);
  const names = await inspector.run('who-uses', '--unused', '--output', 'name');
  expect(names.stdout).toBe(`${OLDER}\n${OLD}\n`);
  expect(names.stderr).toContain('true at this moment only');

  // It has asked for nothing but that, and was refused nothing.
  const requests = await new AuditLog(controlPlane.apiServer.auditLog).events(
    (event) => event.user.username === inspector.user,
  );
  expect([...new Set(requests.map(({ verb }) => verb))].toSorted()).toEqual(['get', 'list']);
  expect(requests.filter(({ responseStatus }) => (responseStatus?.code ?? 0) >= 400)).toEqual([]);
});

/** These rights without one of them. */
function without(resource: string, verb: string): readonly Rule[] {
  return READ_ONLY.flatMap(({ apiGroups, resources, verbs }) =>
    resources.map((one) => ({
      apiGroups,
      resources: [one],
      verbs: verbs.filter((each) => one !== resource || each !== verb),
    })),
  );
}

test.each([
  ['list', 'nodes', 'nodes', USED],
  ['list', 'machineconfigs', `machineconfigs.${MCO}`, USED],
  ['list', 'machineconfigpools', `machineconfigpools.${MCO}`, USED],
  ['list', 'machineosbuilds', `machineosbuilds.${MCO}`, USED],
  ['get', 'machineconfigs', `machineconfigs.${MCO}`, '--unused'],
])('without the right to %s %s: one sentence with that right and the address, 3', async (verb, resource, kind, arg) => {
  const inspector = await Inspector.withRights(controlPlane, without(resource, verb));
  const { exitCode, stdout, stderr } = await inspector.run('who-uses', arg);
  expect([exitCode, stdout]).toEqual([3, '']);
  expect(stderr).toBe(
    `machineconfig-guard: the API server at ${new URL(controlPlane.apiServer.url).host} does not permit you to ${verb} ${kind}; the role cluster-reader does (check with: oc auth can-i ${verb} ${kind}).\n`,
  );
});
