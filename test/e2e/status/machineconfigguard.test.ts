import { afterAll, beforeAll, expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { checkCluster } from '../../../src/cli/check/check-cluster.ts';
import { nameConfigs } from '../../support/rendered-configs.ts';
import { statusOf } from '../control-plane/kube-client.ts';
import { createState } from '../support/cluster-states.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { PATHS } from '../support/objects.ts';
import { sharedInstalledCluster } from '../support/installed-cluster.ts';
import type { GuardStatus } from '../../../src/status/guard-status.ts';

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;
const api = controlPlane.connectApi();

beforeAll(() => installed.clear());
afterAll(() => api.close());

function formatConditions({ conditions }: GuardStatus): readonly string[] {
  return conditions.map(({ type, status }) => `${type}=${status}`);
}

test('reports dangling references in status, columns and Events until their repair', async () => {
  const before = await cluster.awaitStatus(
    ({ conditions, danglingCount }) => conditions.length === 6 && danglingCount === 0,
  );
  expect(before).toMatchObject({ mode: 'Enforce', version: packageJson.version });
  const consistent = [
    'Ready=True',
    'ReferencesConsistent=True',
    'RestoresComplete=True',
    'OverridesUnused=True',
    'CertificatesValid=True',
    'TLSProfileApplied=True',
  ];
  expect(formatConditions(before)).toEqual(consistent);
  await createState(installed, 'R1');
  const masters = ['control0', 'control1', 'control2'];
  const { X: missing, Y: master } = nameConfigs('master');

  const status = await cluster.awaitStatus(({ danglingCount }) => danglingCount === 7);

  const found = status.danglingReferences.map(({ kind, name, field, config }) => `${kind} ${name} ${field} ${config}`);
  const ofNodes = masters.flatMap((name) => [
    `Node ${name} currentConfig ${missing}`,
    `Node ${name} desiredConfig ${missing}`,
  ]);
  expect(found.toSorted()).toEqual(['MachineConfigPool master status ', ...ofNodes]);
  expect(formatConditions(status)).toContain('ReferencesConsistent=False');
  const table = await kubectlOk(controlPlane, ['get', 'mcguard', 'cluster']);
  expect(table).toMatch(/^NAME +MODE +READY +IN USE +DANGLING +LAST DENIAL +AGE *\ncluster +Enforce +True +\d+ +7 /);
  const describeNode = () => kubectlOk(controlPlane, ['describe', 'node', 'control0']);
  await expect.poll(describeNode).toMatch(new RegExp(`DanglingReference .* names ${missing}, which does not exist`));

  for (const name of masters) {
    // As the daemon does once it has the config.
    await cluster.moveNode(name, { currentConfig: master, desiredConfig: master, state: '', reason: '' });
  }
  await cluster.admin.patch(`${PATHS.pools}/master/status`, { status: { configuration: { name: master } } });
  expect(formatConditions(await cluster.awaitStatus(({ danglingCount }) => danglingCount === 0))).toEqual(consistent);
});

test('reports the last denial, and check names who deleted a config that a node names afterwards', async () => {
  const [used, deleted] = [await cluster.config(), await cluster.config()];
  const name = await cluster.node({ currentConfig: used, desiredConfig: used });
  expect((await cluster.delete(used)).status).toBe(403);
  const { lastDenial } = await cluster.awaitStatus((status) => status.lastDenial?.name === used);
  const referrers = ['currentConfig', 'desiredConfig'].map((field) => ({ kind: 'Node', name, field }));
  expect(lastDenial).toMatchObject({ user: 'admin', referrers });
  await cluster.expectAllowed(deleted);

  await cluster.moveNode(name, { desiredConfig: deleted });

  const findProblem = async () => (await checkCluster(api)).report.problems.find(({ config }) => config === deleted);
  await expect.poll(findProblem).toMatchObject({ code: 'ConfigMissing', deletedBy: 'admin' });
  await cluster.admin.delete(`${PATHS.nodes}/${name}`);
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
