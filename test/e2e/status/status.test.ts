import { beforeAll, expect, test } from 'vitest';

import packageJson from '../../../package.json' with { type: 'json' };
import { MCO_GROUP } from '../../../src/kube/api-paths.ts';
import type { GuardStatus } from '../../../src/status/describe-status.ts';
import { runProgram } from '../../cli/run-program.ts';
import { createIncidentB, INCIDENT_B } from '../inspect/incident-b.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { PATHS } from '../support/paths.ts';
import { createServiceAccount } from '../support/service-account.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

const READER_ROLE = '/apis/rbac.authorization.k8s.io/v1/clusterroles/machineconfig-guard-reader';

const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;

beforeAll(() => installed.clear());

function formatConditions({ conditions }: GuardStatus): readonly string[] {
  return conditions.map(({ type, status }) => `${type}=${status}`);
}

test('reports a ready and consistent cluster with valid certificates', async () => {
  const status = await cluster.awaitStatus(
    ({ conditions, danglingCount }) => conditions.length === 6 && danglingCount === 0,
  );

  const { version } = packageJson;
  expect(status).toMatchObject({ mode: 'Enforce', version });
  expect(formatConditions(status)).toEqual([
    'Ready=True',
    'ReferencesConsistent=True',
    'RestoresComplete=True',
    'OverridesUnused=True',
    'CertificatesValid=True',
    'TLSProfileApplied=True',
  ]);
});

test('the command status needs only the rights of a reader, and an unreachable cluster costs one line', async () => {
  await cluster.awaitStatus(({ danglingCount }) => danglingCount === 0);
  const file = await writeReaderKubeconfig();
  const runStatus = (...args: readonly string[]) => runProgram(['status', '--kubeconfig', file, ...args]);

  const { stdout, exitCode } = await runStatus('--contexts', 'all', '--output', 'json');

  const { clusters } = JSON.parse(stdout) as { readonly clusters: readonly object[] };
  expect(clusters).toMatchObject([
    {
      context: 'prod',
      state: 'PROTECTED',
      by: 'guard',
      version: packageJson.version,
      mode: 'Enforce',
      failurePolicy: 'Fail',
      replicas: 2,
      readyReplicas: 2,
      leader: expect.any(String) as unknown,
      certificates: { valid: true },
      danglingCount: 0,
    },
    {
      context: 'unreachable',
      state: 'UNREACHABLE',
      explanation: expect.stringContaining('connection refused') as unknown,
    },
  ]);
  expect(exitCode).toBe(1);
  const single = await runStatus();
  expect([single.exitCode, single.stderr]).toEqual([0, '']);
  expect(single.stdout).toMatch(
    /^CONTEXT .*\nprod +PROTECTED .*\n\nNext: see what a dry-run deletion shows:\n {2}.* --context prod\n$/,
  );
});

/** The context `prod` has the rights of a reader. Nothing listens at the server of `unreachable`. */
async function writeReaderKubeconfig(): Promise<string> {
  const reader = await cluster.admin.find(READER_ROLE);
  const token = await createServiceAccount(cluster.admin, 'status-reader', reader?.rules ?? []);
  const file = await controlPlane.writeKubeconfig('status-reader', { token });
  for (const args of [
    ['rename-context', 'control-plane', 'prod'],
    ['set-cluster', 'unreachable', '--server=https://127.0.0.1:1'],
    ['set-context', 'unreachable', '--cluster=unreachable', '--user=user'],
  ])
    await kubectlOk(controlPlane, ['config', ...args, `--kubeconfig=${file}`]);
  return file;
}

test('reports dangling references in status, columns and Events until their repair', async () => {
  await createIncidentB(cluster);
  const { masters, master, missing } = INCIDENT_B;

  const status = await cluster.awaitStatus(({ danglingCount }) => danglingCount === 5);

  const found = status.danglingReferences.map(({ kind, name, field, config }) => `${kind} ${name} ${field} ${config}`);
  const ofNodes = masters.flatMap((name) => [
    `Node ${name} currentConfig ${missing}`,
    `Node ${name} desiredConfig ${missing}`,
  ]);
  expect(found.toSorted()).toEqual(['MachineConfigPool master status ', ...ofNodes]);
  const ofNode = status.danglingReferences.find(({ kind }) => kind === 'Node');
  expect(ofNode?.explanation).toMatch(/^The guard has not seen this config since it started at /);
  expect(formatConditions(status)).toContain('ReferencesConsistent=False');
  const table = await kubectlOk(controlPlane, ['get', 'mcguard', 'cluster']);
  const [columns, row] = table.split('\n').map((line) => line.split(/\s{2,}/));
  expect(columns).toEqual(['NAME', 'MODE', 'READY', 'IN USE', 'DANGLING', 'LAST DENIAL', 'AGE']);
  const isCount: unknown = expect.stringMatching(/^\d+$/);
  expect(row?.slice(0, 5)).toEqual(['cluster', 'Enforce', 'True', isCount, '5']);
  const describeNode = () => kubectlOk(controlPlane, ['describe', 'node', masters[0]]);
  await expect
    .poll(describeNode, { interval: 1_000 })
    .toMatch(new RegExp(`DanglingReference .* names ${missing}, which does not exist`));

  const configs = { currentConfig: master, desiredConfig: master };
  for (const name of masters) {
    await cluster.moveNode(name, configs);
    // As the daemon does once it has the config.
    const annotations = Object.fromEntries(['state', 'reason'].map((key) => [`${MCO_GROUP}/${key}`, '']));
    await cluster.admin.patch(`${PATHS.nodes}/${name}`, { metadata: { annotations } });
  }
  const poolPatch = { status: { configuration: { name: master } } };
  await cluster.admin.patch(`${PATHS.pools}/master/status`, poolPatch);
  const repaired = await cluster.awaitStatus(({ danglingCount }) => danglingCount === 0);
  expect(formatConditions(repaired)).toContain('ReferencesConsistent=True');
});

test('reports a config in use whose annotation allows its deletion', async () => {
  const annotations = { 'machineconfig-guard.io/allow-deletion': 'planted' };
  const config = await cluster.config({ annotations });
  const node = await cluster.node({ currentConfig: config });

  const { conditions } = await cluster.awaitStatus((status) =>
    formatConditions(status).includes('OverridesUnused=False'),
  );

  const condition = conditions.find(({ type }) => type === 'OverridesUnused');
  expect(condition).toMatchObject({ reason: 'ConfigInUse', message: expect.stringContaining(config) as unknown });
  await cluster.admin.delete(`${PATHS.nodes}/${node}`);
  await cluster.awaitStatus((status) => formatConditions(status).includes('OverridesUnused=True'));
});

test('reports the last denial with user and referrers', async () => {
  const config = await cluster.config();
  const name = await cluster.node({ currentConfig: config });
  expect((await cluster.delete(config)).status).toBe(403);

  const { lastDenial } = await cluster.awaitStatus((status) => status.lastDenial?.name === config);

  const referrers = [{ kind: 'Node', name, field: 'currentConfig' }];
  expect(lastDenial).toMatchObject({ user: 'admin', referrers });
});
