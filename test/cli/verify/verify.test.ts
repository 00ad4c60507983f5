import { expect, test } from 'vitest';
import { buildWebhookConfiguration } from '../../../src/install/webhook-configuration.ts';
import { stubWebhook } from '../../support/stub-webhook.ts';
import { createConfig, createNode, type InspectedCluster, NEW, OLD, startEmptyCluster } from '../inspected-cluster.ts';

const TEXT = expect.any(String) as string;
const IN_USE = `MCG_IN_USE: ${NEW} is in use by node worker-0\n(currentConfig).`;

/** Starts a cluster without a guard in which node worker-0 uses NEW, and OLD is unused. */
async function startUnguardedCluster(): Promise<InspectedCluster> {
  const inspected = await startEmptyCluster();
  createConfig(inspected.cluster, OLD);
  createConfig(inspected.cluster, NEW);
  createNode(inspected.cluster, 'worker-0', { currentConfig: NEW });
  return inspected;
}

/** Adds a webhook that denies the deletion of these configs. */
async function startGuardedCluster(message: string, configs: readonly unknown[]): Promise<InspectedCluster> {
  const inspected = await startUnguardedCluster();
  const status = { code: 403, reason: 'Forbidden', message };
  const { at } = await stubWebhook(({ request }) => ({
    response: configs.includes(request['name']) ? { allowed: false, status } : { allowed: true },
  }));
  const configuration = buildWebhookConfiguration({ clientConfig: at, failurePolicy: 'Fail' });
  inspected.cluster.create('validatingwebhookconfigurations', configuration);
  return inspected;
}

test('if the guard denies, prints each step and exits with 0', async () => {
  const { run } = await startGuardedCluster(IN_USE, [NEW]);
  const { exitCode, stdout, stderr } = await run('verify');
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(stdout.replace(/127\.0\.0\.1:\d+/, 'ADDRESS').split('\n')).toEqual([
    'webhook   machineconfig-guard, failurePolicy Fail, a caBundle, https://ADDRESS/validate',
    'policies  none',
    'mode      Enforce (there is no MachineConfigGuard)',
    `unused    ${OLD} could be deleted`,
    `tried     dry-run deletion of ${NEW}, in use by Node worker-0 (currentConfig)`,
    'answer    403 admission webhook "guard.machineconfig-guard.io" denied the request: ' + IN_USE.replace('\n', ' '),
    '',
    'Protected: the guard refuses the deletion of a config in use.',
    '',
  ]);
});

test('if no guard is installed, prints what to do and exits with 1', async () => {
  const { run, cluster } = await startUnguardedCluster();
  cluster.create('machineconfigguards', { metadata: { name: 'cluster' }, spec: { mode: 'Warn' } });
  const { exitCode, stdout } = await run('verify');
  expect(exitCode).toBe(1);
  expect(stdout.split('\n').slice(-5)).toEqual([
    'answer    it would be deleted',
    '',
    'NOT PROTECTED: it would be deleted: neither the webhook nor the policies are installed.',
    'Do: oc apply -k manifests/overlays/service-ca',
    '',
  ]);
});

test('prints exactly the documented JSON keys', async () => {
  const { run, cluster, address } = await startGuardedCluster(IN_USE, [NEW]);
  cluster.create('machineconfigguards', { metadata: { name: 'cluster' }, spec: { mode: 'Enforce' } });
  const { exitCode, stdout, stderr } = await run('verify', '--output', 'json');
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(JSON.parse(stdout)).toStrictEqual({
    server: address,
    protected: true,
    by: 'guard',
    explanation: TEXT,
    advice: '',
    webhooks: [
      {
        configuration: 'machineconfig-guard',
        failurePolicy: 'Fail',
        caBundle: true,
        injected: false,
        target: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+\/validate$/) as string,
      },
    ],
    floor: [],
    mode: 'Enforce',
    tried: { config: NEW, kind: 'Node', name: 'worker-0', field: 'currentConfig' },
    answer: {
      status: 403,
      message: expect.stringMatching(/^admission webhook "\S+" denied the request: MCG_IN_USE/) as string,
    },
    unused: { config: OLD, wouldBeDeleted: true, message: '' },
  });
});

test('prints null for unknown JSON values and empty lists', async () => {
  const { run } = await startEmptyCluster();
  const { exitCode, stdout } = await run('verify', '--output', 'json');
  expect(exitCode).toBe(1);
  const absent = { by: null, mode: null, tried: null, answer: null, unused: null };
  const report = { protected: false, advice: TEXT, webhooks: [], floor: [], ...absent };
  expect(JSON.parse(stdout)).toMatchObject(report);
});

test.each([
  ['GET', '/validatingwebhookconfigurations', 'list validatingwebhookconfigurations.admissionregistration.k8s.io'],
  ['GET', '/nodes', 'list nodes'],
  ['DELETE', '/machineconfig-guard-verify', 'delete machineconfigs.machineconfiguration.openshift.io'],
])('without permission for %s %s, exits with 3', async (method, path, access) => {
  const { run, cluster } = await startUnguardedCluster();
  const body = { kind: 'Status', message: 'User "x" cannot delete resource "machineconfigs"' };
  cluster.faults.intercept((request) =>
    request.method === method && request.path.endsWith(path) ? { status: 403, body } : 'pass',
  );
  const stderr = expect.stringContaining(`does not permit you to ${access}`) as string;
  expect(await run('verify')).toMatchObject({ exitCode: 3, stderr });
});
