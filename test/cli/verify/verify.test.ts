import { expect, test } from 'vitest';
import { buildWebhookConfiguration, type ClientConfig } from '../../../src/install/webhook-configuration.ts';
import { stubWebhook } from '../../sandbox/stub-webhook.ts';
import { createConfig, createNode, type InspectedCluster, NEW, OLD, startEmptyCluster } from '../inspected-cluster.ts';
import { usageError } from '../run-program.ts';

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

/** Registers a webhook that denies the deletion of NEW, as the guard does. */
async function startGuardedCluster(): Promise<InspectedCluster> {
  const inspected = await startUnguardedCluster();
  const status = { code: 403, reason: 'Forbidden', message: IN_USE };
  const { at } = await stubWebhook(({ review }) => ({
    response: review.request['name'] === NEW ? { allowed: false, status } : { allowed: true },
  }));
  register(inspected, at);
  return inspected;
}

function register({ cluster }: InspectedCluster, clientConfig: ClientConfig, failurePolicy = 'Fail' as const): void {
  const configuration = buildWebhookConfiguration({ clientConfig, failurePolicy });
  cluster.create('validatingwebhookconfigurations', configuration);
}

test('if the guard denies, prints each step and exits with 0', async () => {
  const { run } = await startGuardedCluster();
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

test('if the guard cannot read the cluster, exits with 1', async () => {
  const inspected = await startUnguardedCluster();
  const status = { code: 503, reason: 'ServiceUnavailable', message: 'MCG_UNVERIFIED: could not verify' };
  register(inspected, (await stubWebhook(() => ({ response: { allowed: false, status } }))).at);
  const { exitCode, stdout } = await inspected.run('verify');
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(
    /^unused {4}rendered-\S+ is refused: admission webhook "\S+" denied the request: MCG_UNVERIF/m,
  );
  expect(stdout).toMatch(/^answer {4}503 admission webhook "\S+" denied the request: MCG_UNVERIFIED: /m);
  expect(stdout).toContain('NOT PROTECTED: the guard answered MCG_UNVERIFIED where MCG_IN_USE was due.');
});

test.each([
  ['Fail', "deletions are refused, but not by the guard's decision: the API server cannot reach the guard."],
  ['Ignore', 'it would be deleted: the API server could not ask the guard, and its failurePolicy is Ignore.'],
])('if no guard listens and the failurePolicy is %s, exits with 1', async (failurePolicy, explanation) => {
  const inspected = await startUnguardedCluster();
  const { caBundle } = (await stubWebhook(() => 'nothing')).at;
  // No process listens on the discard port.
  register(inspected, { url: 'https://127.0.0.1:9/validate', caBundle }, failurePolicy as 'Fail');
  const { exitCode, stdout } = await inspected.run('verify');
  expect(exitCode).toBe(1);
  expect(stdout).toContain(`NOT PROTECTED: ${explanation}`);
});

/** A key that disappears or changes its name breaks scripts. */
test('prints exactly the documented JSON keys', async () => {
  const { run, cluster, address } = await startGuardedCluster();
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

const ADMISSION = 'admissionregistration.k8s.io';
const MCO = 'machineconfiguration.openshift.io';

test.each([
  ['GET', '/machineconfigguards/cluster', 'get', 'machineconfigguards.machineconfig-guard.io'],
  ['GET', '/validatingwebhookconfigurations', 'list', `validatingwebhookconfigurations.${ADMISSION}`],
  ['GET', '/nodes.machineconfig-guard.io', 'get', `validatingadmissionpolicybindings.${ADMISSION}`],
  ['GET', '/nodes', 'list', 'nodes'],
  ['GET', '/machineconfigpools', 'list', `machineconfigpools.${MCO}`],
  ['GET', '/machineconfigs', 'list', `machineconfigs.${MCO}`],
  ['DELETE', '/machineconfig-guard-verify', 'delete', `machineconfigs.${MCO}`],
])('without permission for %s %s, exits with 3', async (method, path, verb, resource) => {
  const { run, cluster } = await startGuardedCluster();
  const body = { kind: 'Status', message: 'User "x" cannot delete resource "machineconfigs"' };
  cluster.faults.intercept((request) =>
    request.method === method && request.path.endsWith(path) ? { status: 403, body } : 'pass',
  );
  const { exitCode, stderr } = await run('verify');
  expect(exitCode).toBe(3);
  expect(stderr).toContain(`does not permit you to ${verb} ${resource}`);
});

test('if MachineConfigs are not served, exits with 3', async () => {
  const { run, cluster } = await startGuardedCluster();
  cluster.serve('machineconfigs', []);
  const { exitCode, stderr } = await run('verify');
  expect(exitCode).toBe(3);
  expect(stderr).toMatch(/does not serve machineconfigs\S+: it is not OpenShift, or [^\n]+\n$/);
});

test('if a dry run is not recognized as such, exits with 3 and tries no config', async () => {
  const { run, cluster, address } = await startGuardedCluster();
  const message = 'machineconfigs "machineconfig-guard-verify" not found';
  let deletions = 0;
  cluster.faults.intercept(({ method }) => {
    if (method !== 'DELETE') return 'pass';
    deletions += 1;
    // kube-apiserver's answer to the deletion of an object that does not exist.
    return { status: 404, body: { kind: 'Status', reason: 'NotFound', message } };
  });
  const server = `the API server at ${address} (or a proxy in front of it)`;
  const problem = `does not honour dry runs, so nothing was tried: it answered 404 ${message} where 422 was due.`;
  expect(await run('verify')).toMatchObject({ exitCode: 3, stderr: `machineconfig-guard: ${server} ${problem}\n` });
  expect(deletions).toBe(1);
});

test.each([
  [429, 'Too many requests, please try again later.'],
  [500, 'etcdserver: request timed out'],
  [503, 'the server is currently unable to handle the request'],
])('if the API server answers %i before it calls a webhook, exits with 3', async (status, message) => {
  const { run, cluster } = await startGuardedCluster();
  cluster.faults.intercept(({ method, query }) =>
    method === 'DELETE' && query.get('dryRun') === 'All' ? { status, body: { kind: 'Status', message } } : 'pass',
  );
  const { exitCode, stdout, stderr } = await run('verify');
  expect(exitCode).toBe(3);
  expect(stderr).toContain(`answered ${status} to delete machineconfigs.${MCO}: ${message}`);
  expect(stdout).not.toMatch(/protected/i);
});

test('if the connection breaks, exits with 3', async () => {
  const { run, cluster } = await startGuardedCluster();
  cluster.faults.intercept(({ method }) => (method === 'DELETE' ? 'reset' : 'pass'));
  const { exitCode, stderr } = await run('verify');
  expect(exitCode).toBe(3);
  expect(stderr).toMatch(/^machineconfig-guard: cannot delete machineconfigs\S+: [^\n]+ECONNRESET\.\n$/);
});

test.each([[['--output', 'yaml']], [['something']]])('with %j, exits with 2', async (args) => {
  const { run } = await startEmptyCluster();
  expect(await run('verify', ...args)).toEqual(usageError());
});
