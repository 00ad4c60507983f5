import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { until } from '../control-plane/until.ts';
import { unique } from '../support/cluster.ts';
import { kubectl } from '../support/kubectl.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { PATHS } from '../support/paths.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

const COMPONENT = join(MANIFESTS, 'components', 'pool-deletion-warning');
const SUCCESS = { exitCode: 0, stderr: '' };
const installed = await sharedInstalledCluster();
const { cluster, controlPlane } = installed;

/** Deletes as `oc delete` does. */
async function deleteWith(...args: readonly string[]) {
  const { exitCode, stderr } = await kubectl(controlPlane, ['delete', ...args]);
  return { exitCode, stderr: stderr.trimEnd() };
}

/** The pool has machines only if its status says so. */
async function createPool(machineCount: number): Promise<string> {
  const { name } = (await cluster.pool({ name: unique('infra') })).metadata;
  await cluster.admin.patch(`${PATHS.pools}/${name}/status`, { status: { machineCount } });
  return name;
}

beforeAll(async () => {
  await installed.applyOverlay(COMPONENT);
  const probe = await createPool(1);
  // The API server reads its policies every second.
  await until('the policy', async () => {
    return (await deleteWith('machineconfigpool', probe, '--dry-run=server')).stderr !== '';
  });
});

afterAll(() => installed.deleteOverlay(COMPONENT));

test('a deletion of a pool with machines succeeds with a warning, and that of an empty pool without', async () => {
  const [used, empty] = [await createPool(3), await createPool(0)];
  const answer = await deleteWith('machineconfigpool', used);
  expect(answer.exitCode).toBe(0);
  expect(answer.stderr).toMatch(
    /^Warning: Validation failed for .*'pool-deletion\.machineconfig-guard\.io'.*: pool \S+ still has 3 machines\./,
  );
  expect(answer.stderr).toContain(`such as node-role.kubernetes.io/${used}`);
  expect(await deleteWith('machineconfigpool', empty)).toEqual(SUCCESS);
});
