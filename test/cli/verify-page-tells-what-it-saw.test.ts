import { expect, test } from 'vitest';
import { NEW, OLD } from './inspected-cluster.ts';
import { verifiedCluster } from './verified-cluster.ts';

test('protected: one line for each thing seen, and what it comes to', async () => {
  const { run } = await verifiedCluster();

  const { exitCode, stdout, stderr } = await run('verify');

  expect([exitCode, stderr]).toEqual([0, '']);
  const lines = stdout.replace(/127\.0\.0\.1:\d+/, 'ADDRESS').split('\n');
  expect(lines).toEqual([
    'webhook   machineconfig-guard, failurePolicy Fail, a caBundle, https://ADDRESS/validate',
    'policies  none',
    'mode      Enforce (there is no MachineConfigGuard)',
    `unused    ${OLD} could be deleted`,
    `tried     dry-run deletion of ${NEW}, in use by Node worker-0 (currentConfig)`,
    // The line break in the webhook's answer is none here.
    `answer    403 admission webhook "guard.machineconfig-guard.io" denied the request: MCG_IN_USE: ${NEW} is in use by node worker-0 (currentConfig).`,
    '',
    'Protected: the guard refuses the deletion of a config in use.',
    '',
  ]);
});

test('not protected: what to do is the last line', async () => {
  const { run, sandbox } = await verifiedCluster({ guarded: false });
  sandbox.create('machineconfigguards', { metadata: { name: 'cluster' }, spec: { mode: 'Warn' } });

  const { exitCode, stdout } = await run('verify');

  expect(exitCode).toBe(1);
  expect(stdout.split('\n').slice(-7)).toEqual([
    `unused    ${OLD} could be deleted`,
    `tried     dry-run deletion of ${NEW}, in use by Node worker-0 (currentConfig)`,
    'answer    it would be deleted',
    '',
    'NOT PROTECTED: it would be deleted: neither the webhook nor the policies are installed.',
    'Do: oc apply -k manifests/overlays/service-ca',
    '',
  ]);
});
