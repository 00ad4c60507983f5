import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { until } from '../control-plane/until.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { kubectl } from '../support/kubectl.ts';
import { hasPolicies, listLeftovers, MANIFESTS } from '../support/overlays.ts';
import { IS_LONG } from '../support/runner.ts';
import { openShell } from '../support/shell.ts';

const installed = await InstalledCluster.start(['prometheus-operator']);
const { cluster, controlPlane } = installed;
const shell = await openShell(controlPlane);
const config = await cluster.config();
await cluster.node({ name: 'worker-0', currentConfig: config });
await cluster.pool({ name: 'worker', spec: config });

afterAll(() => installed.stop());

/** No guard runs, so the webhook and the policies deny. */
const readStatus = async () => (await cluster.dryRun(config)).status;

const REASON = 'webhook-deletion-reason';
// Together they have every kind of object. The other installations differ from them in the Deployment.
const FLOORS = [['fail-open-with-floor', REASON], ...(IS_LONG ? [['policy-floor']] : [])];

test.each([['monitoring'], ...(hasPolicies(controlPlane) ? FLOORS : [])])(
  'uninstall removes %s, and proves that nothing denies a deletion',
  async (name, component) => {
    await installed.applyOverlay(name);
    await expect.poll(readStatus).not.toBe(200);
    if (component !== undefined) {
      await installed.applyOverlay(join(MANIFESTS, 'components', component));
      const deletion = ['delete', 'validatingwebhookconfiguration', 'machineconfig-guard'];
      // It comes back until the policy denies the deletion.
      await until('the policy', async () => {
        await installed.applyOverlay(name);
        return (await kubectl(controlPlane, deletion)).stderr.includes(`denied request: without its webhook`);
      });
    }

    const listed = await shell.run('machineconfig-guard uninstall');
    expect(listed.exitCode).toBe(0);
    expect(listed.stdout).toMatch(
      /^ {2}1\. (?:delete|give a reason .*) Validating[^]*\n {2}machineconfig-guard uninstall .*--confirm\n$/m,
    );
    expect(await readStatus()).not.toBe(200);

    const { exitCode, stdout, stderr } = await shell.run('machineconfig-guard uninstall --confirm');

    expect({ exitCode, stderr: exitCode === 0 ? '' : stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toContain(`Uninstalled. Nothing denies the deletion of ${config} (dry run).\n`);
    expect(await cluster.exists(config)).toBe(true);
    // The next install needs no wait.
    expect(await listLeftovers(controlPlane)).toEqual([]);
  },
);
