import { expect, test } from 'vitest';
import { buildWebhookConfiguration, WEBHOOK_NAME } from '../../../src/install/webhook-configuration.ts';
import { stubWebhook } from '../../support/stub-webhook.ts';
import { usageError } from '../run-program.ts';
import { useTerminal } from '../terminal.ts';
import { createConfig, createNode, NEW, OLD, startEmptyCluster } from '../inspected-cluster.ts';

const IN_USE = `MCG_IN_USE: ${NEW} is in use by node worker-0\n(currentConfig).`;

/** Starts a cluster with a config in use, whose deletion the guard allows. Returns a function that runs the program. */
async function startInAuditMode() {
  const { cluster, run } = await startEmptyCluster();
  createConfig(cluster, NEW);
  createNode(cluster, 'worker-0', { currentConfig: NEW });
  cluster.create('machineconfigguards', { metadata: { name: 'cluster' }, spec: { mode: 'Audit' } });
  const { at } = await stubWebhook(() => ({ response: { allowed: true } }));
  const configuration = buildWebhookConfiguration({ clientConfig: at, failurePolicy: 'Fail' });
  cluster.create('validatingwebhookconfigurations', configuration);
  return run;
}

test('if the guard denies, prints each step and exits with 0', async () => {
  const { cluster, run } = await startEmptyCluster();
  createConfig(cluster, OLD);
  createConfig(cluster, NEW);
  createNode(cluster, 'worker-0', { currentConfig: NEW });
  const denial = {
    allowed: false,
    status: {
      code: 403,
      reason: 'Forbidden',
      message: IN_USE,
    },
  };
  const { at } = await stubWebhook(({ request }) => ({
    response: request['name'] === NEW ? denial : { allowed: true },
  }));
  const configuration = buildWebhookConfiguration({ clientConfig: at, failurePolicy: 'Fail' });
  cluster.create('validatingwebhookconfigurations', configuration);

  const { exitCode, stdout, stderr } = await run('verify');
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(stdout.replace(/127\.0\.0\.1:\d+/, 'ADDRESS').split('\n')).toEqual([
    'webhook   machineconfig-guard, failurePolicy Fail, with caBundle, https://ADDRESS/validate',
    'policies  none',
    'mode      Enforce (default: no MachineConfigGuard exists)',
    `unused    ${OLD} can be deleted`,
    `tried     dry-run deletion of ${NEW}, in use by Node worker-0 (currentConfig)`,
    'answer    403 admission webhook "guard.machineconfig-guard.io" denied the request: ' + IN_USE.replace('\n', ' '),
    '',
    'PROTECTED: the guard denies the deletion of a config in use.',
    '',
  ]);
});

test('without protection, exits with 1 and prints advice or JSON', async () => {
  const { run } = await startEmptyCluster();
  const { exitCode, stdout } = await run('verify', '--output', 'json');
  expect(exitCode).toBe(1);
  const absent = {
    by: null,
    mode: null,
    tried: null,
    answer: null,
    unused: null,
  };
  expect(JSON.parse(stdout)).toMatchObject({ protected: false, webhooks: [], floor: [], ...absent });
  expect((await run('verify')).stdout).toMatch(
    /\nUNKNOWN: no rendered MachineConfigs found\.\nNext: verify again .*\n$/,
  );
});

test('with --wait, prints each change on stderr, and the report when the guard protects', async () => {
  const { cluster, run } = await startEmptyCluster();
  createConfig(cluster, NEW);
  createNode(cluster, 'worker-0', { currentConfig: NEW });
  const { at } = await stubWebhook(() => ({
    response: { allowed: false, status: { code: 403, reason: 'Forbidden', message: IN_USE } },
  }));
  const configuration = buildWebhookConfiguration({ clientConfig: at, failurePolicy: 'Fail' });
  let reads = 0;
  cluster.faults.intercept(({ path }) => {
    if (path.endsWith('/validatingwebhookconfigurations')) reads += 1;
    if (reads === 2 && cluster.get('validatingwebhookconfigurations', 'machineconfig-guard') === undefined)
      cluster.create('validatingwebhookconfigurations', configuration);
    return 'pass';
  });
  const { exitCode, stdout, stderr } = await run('verify', '--wait', '--timeout', '20s');
  expect(exitCode).toBe(0);
  expect(stderr).toMatch(/^ +\d+s {2}EXPOSED: .*is not installed\n +\d+s {2}PROTECTED: the guard denies.*\n$/);
  expect(stdout).toMatch(/^webhook .*\n[^]*\nPROTECTED: the guard denies/);
});

test('at 80 columns, wraps between words and keeps the command whole', async () => {
  useTerminal(80);
  const run = await startInAuditMode();
  const { stdout } = await run('verify');
  expect(stdout).toContain(
    `tried     dry-run deletion of ${NEW},\n          in use by Node worker-0 (currentConfig)\n`,
  );
  expect(stdout).toMatch(/\nNext: set the mode Enforce:\n {2}oc --kubeconfig \S+ patch mcguard cluster [^]*\n$/);
});

test('with -n, names the namespace in the advice', async () => {
  const { cluster, run } = await startEmptyCluster();
  createConfig(cluster, NEW);
  createNode(cluster, 'worker-0', { currentConfig: NEW });
  const clientConfig = { url: 'https://127.0.0.1:1/validate', caBundle: 'x' };
  const configuration = buildWebhookConfiguration({ clientConfig, failurePolicy: 'Fail' });
  cluster.create('validatingwebhookconfigurations', configuration);
  cluster.create('namespaces', { metadata: { name: 'other' } });
  const { stdout } = await run('verify', '-n', 'other');
  expect(stdout).toMatch(/\nBLOCKED: [^]*\nNext: [^]*oc --kubeconfig \S+ get pods,endpointslices -n other\n/);
});

test('with --context, names it in the advice', async () => {
  const run = await startInAuditMode();
  const { stdout } = await run('verify', '--context', 'in-memory');
  expect(stdout).toMatch(/\nNext: .*\n {2}oc --kubeconfig \S+ --context in-memory patch mcguard cluster /);
});

test.each(['text', 'json', 'yaml'])('prints no control character of a cluster with -o %s', async (output) => {
  const { cluster, run } = await startEmptyCluster();
  const hostile = '\u001B]52;c;eA==\u0007\u009B\u202E\n';
  createConfig(cluster, NEW);
  createNode(cluster, 'worker-0', { currentConfig: NEW });
  const webhooks = [{ name: WEBHOOK_NAME, failurePolicy: hostile, clientConfig: { url: hostile } }];
  cluster.faults.intercept(({ method, path }) => {
    if (method === 'DELETE' && path.endsWith(NEW))
      return { status: 403, body: { kind: 'Status', message: `denied${hostile}` } };
    return path.endsWith('/validatingwebhookconfigurations')
      ? { status: 200, body: { items: [{ metadata: { name: hostile }, webhooks }] } }
      : 'pass';
  });
  const { stdout } = await run('verify', '-o', output);
  expect(stdout).toContain('52;c;eA==');
  expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

test('exits with 2 if --timeout is given without --wait', async () => {
  const { run } = await startEmptyCluster();
  expect(await run('verify', '--timeout', '5s')).toEqual(usageError('--timeout needs --wait\n'));
});
