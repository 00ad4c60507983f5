import { expect, test } from 'vitest';
import { WEBHOOK_NAME } from '../../../src/install/webhook-configuration.ts';
import { register, stubWebhook } from '../../support/stub-webhook.ts';
import { runProgram, usageError } from '../run-program.ts';
import { useTerminal } from '../terminal.ts';
import { NEW, OLD, startHealthyCluster } from '../inspected-cluster.ts';

const IN_USE = `MCG_IN_USE: ${NEW} is in use by node worker-0\n(currentConfig).`;
const DENIAL = { allowed: false, status: { code: 403, reason: 'Forbidden', message: IN_USE } };

/** Starts a webhook that decides as the guard does. */
const startGuard = () => stubWebhook(({ request }) => (request.name === NEW ? DENIAL : { allowed: true }));

test('if the guard denies, prints each step and exits with 0', async () => {
  const { cluster, run } = await startHealthyCluster();
  register(cluster, await startGuard());

  const { exitCode, stdout, stderr } = await run('verify');
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(stdout.replace(/127\.0\.0\.1:\d+/, 'ADDRESS').split('\n')).toEqual([
    'webhook   machineconfig-guard (rendered), failurePolicy Fail, with caBundle, https://ADDRESS/validate',
    'policies  none',
    'mode      Enforce (default: no MachineConfigGuard exists)',
    `unused    ${OLD} can be deleted`,
    `dry run   deletion of ${NEW}, in use by Node worker-0 (currentConfig)`,
    'answer    403 admission webhook "guard.machineconfig-guard.io" denied the request: ' + IN_USE.replace('\n', ' '),
    '',
    'PROTECTED: the guard denies the deletion of a config in use.',
    '',
  ]);
});

test('with --wait, retries through outages, prints each change, and ends when the guard protects', async () => {
  const { cluster, run } = await startHealthyCluster();
  const webhook = await startGuard();
  let reads = 0;
  cluster.faults.intercept(({ path }) => {
    if (!path.endsWith('/validatingwebhookconfigurations')) return 'pass';
    reads += 1;
    if (reads === 1) return { status: 503 };
    if (reads === 3) register(cluster, webhook);
    return 'pass';
  });
  const { exitCode, stdout, stderr } = await run('verify', '--wait', '--timeout', '100s');
  expect(exitCode).toBe(0);
  expect(stderr.replaceAll(/^ +\d+s {2}/gm, '').split('\n')).toEqual([
    expect.stringMatching(/answered 503 to list .*; retrying$/),
    expect.stringMatching(/^EXPOSED: .*is not installed$/),
    expect.stringMatching(/^PROTECTED: the guard denies/),
    '',
  ]);
  expect(stdout).toMatch(/^webhook .*\n[^]*\nPROTECTED: the guard denies/);
});

test('with --wait, waits for the guard although the policy floor denies', async () => {
  const { cluster, run } = await startHealthyCluster();
  const service = { namespace: 'machineconfig-guard', name: 'machineconfig-guard' };
  const webhooks = [{ name: WEBHOOK_NAME, failurePolicy: 'Ignore', clientConfig: { service, caBundle: 'x' } }];
  const message = "ValidatingAdmissionPolicy 'nodes.machineconfig-guard.io' denied request: MCG_IN_USE: x";
  let reads = 0;
  cluster.faults.intercept(({ method, path }) => {
    if (method === 'DELETE' && path.endsWith(NEW)) return { status: 403, body: { kind: 'Status', message } };
    if (!path.endsWith('/validatingwebhookconfigurations')) return 'pass';
    reads += 1;
    // The floor alone is complete without a webhook, which ends the wait.
    return { status: 200, body: { items: reads > 2 ? [] : [{ webhooks }] } };
  });
  const { stdout, stderr } = await run('verify', '--wait', '--timeout', '100s');
  expect(stderr).toMatch(/PROTECTED: only the policy .* is Ignore/);
  expect(stdout).toMatch(/PROTECTED: only the policy/);
  expect(reads).toBeGreaterThan(2);
});

test('with --wait, does not wait if the mode does not deny, and keeps the command for its cluster whole', async () => {
  useTerminal(80);
  const { cluster, run } = await startHealthyCluster();
  cluster.create('machineconfigguards', { metadata: { name: 'cluster' }, spec: { mode: 'Audit' } });
  register(cluster, await stubWebhook(() => ({ allowed: true })));
  const { exitCode, stdout, stderr } = await run('verify', '--wait', '--context', 'in-memory');
  expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/^ +\d+s {2}EXPOSED: [^\n]*\n$/)]);
  expect(stdout).toContain(`dry run   deletion of ${NEW}, in use\n          by Node worker-0 (currentConfig)\n`);
  expect(stdout).toMatch(
    /\nNext: set the mode Enforce:\n {2}oc --kubeconfig \S+ --context in-memory patch mcguard cluster [^]*\n$/,
  );
});

test('exits with 2 if --timeout is given without --wait', async () => {
  expect(await runProgram(['verify', '--timeout', '5s'])).toEqual(usageError('--timeout needs --wait\n'));
});
