import { afterAll, expect, onTestFinished, test } from 'vitest';

import { runProgram } from '../../cli/run-program.ts';
import { PATHS } from '../support/paths.ts';
import { awaitFloor } from '../support/floor.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

const installed = await sharedInstalledCluster();
const { cluster } = installed;
const VERIFY = ['verify', '--kubeconfig', installed.controlPlane.apiServer.kubeconfig];
await installed.clear();

afterAll(() => installed.clear());

/** Polls because the API server applies a changed webhook or policy after a moment. */
async function expectVerify(exitCode: number, text: string): Promise<void> {
  const verify = async () => {
    const result = await runProgram(VERIFY);
    return `exit code ${result.exitCode}\n${result.stdout}${result.stderr}`;
  };
  const isExpected = expect.stringMatching(new RegExp(`^exit code ${exitCode}\n[^]*${text}`));
  await expect.poll(verify).toEqual(isExpected);
}

test('finds that the guard protects, and deletes nothing', async () => {
  const [used, unused] = [await cluster.config(), await cluster.config()];
  await cluster.node({ name: 'worker-0', currentConfig: used });
  const terminating = `${PATHS.configs}/${await cluster.config()}`;
  await cluster.admin.patch(terminating, {
    metadata: { finalizers: ['e2e.machineconfig-guard.io/hold'] },
  });
  expect((await cluster.admin.delete(terminating)).status).toBe(200);
  onTestFinished(async () => {
    await cluster.admin.patch(terminating, { metadata: { finalizers: null } });
  });

  await expectVerify(0, 'PROTECTED: the guard denies the deletion of a config in use.');

  const { stdout } = await runProgram([...VERIFY, '--output', 'json']);
  expect(JSON.parse(stdout)).toMatchObject({
    protected: true,
    by: 'guard',
    state: 'PROTECTED',
    webhooks: [{ failurePolicy: 'Fail', caBundle: true, installation: 'service-ca' }],
    floor: [],
    mode: 'Enforce',
    dryRun: { config: used, kind: 'Node', name: 'worker-0', field: 'currentConfig' },
    answer: { status: 403, message: expect.stringContaining('MCG_IN_USE') },
    unused: { config: unused, wouldBeDeleted: true },
  });
  expect([await cluster.exists(used), await cluster.exists(unused)]).toEqual([true, true]);
});

test('finds no protection without webhook and policies, and that policies protect alone', async () => {
  // Also after a failure, because later files need the guard.
  onTestFinished(async () => {
    await installed.deleteOverlay('policy-floor');
    await installed.applyOverlay('monitoring');
    await installed.awaitGuard();
  });
  await cluster.admin.delete(PATHS.guardWebhook);
  await expectVerify(1, 'EXPOSED: a config in use can be deleted: the guard is not installed');

  await installed.applyOverlay('policy-floor');
  await awaitFloor(cluster);
  await expectVerify(0, 'PROTECTED: only the policy nodes\\.machineconfig-guard\\.io denies the deletion');
});
