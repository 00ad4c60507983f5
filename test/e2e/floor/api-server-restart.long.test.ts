import { expect, onTestFinished, test } from 'vitest';

import { statusOf, type KubeResponse } from '../control-plane/kube-client.ts';
import { pause, until } from '../control-plane/until.ts';
import { unique } from '../support/cluster.ts';
import { awaitFloor, policyDenialOf } from '../support/floor.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { PATHS } from '../support/paths.ts';

/** The API server denies with this text until it knows the kind of the parameters. It looks for new ones every 30 s. */
const UNCONFIGURED = 'failed to configure policy: failed to find resource referenced by paramKind';

function isUnconfigured(response: KubeResponse): boolean {
  return statusOf(response).message?.includes(UNCONFIGURED) === true;
}

// It waits for the API server for up to a minute.
test('the policies deny until an API server knows their kinds, and a config in use from its start on', async () => {
  const installed = await InstalledCluster.start();
  onTestFinished(() => installed.stop());
  const { cluster, controlPlane } = installed;
  await controlPlane.deleteOpenShiftCrds();
  // It forgets the kinds.
  await controlPlane.apiServer.restart();
  /** Deletes a config until the policies are configured, and returns that answer. */
  const deleteUntilConfigured = async (config: string, { admin } = controlPlane.apiServer) => {
    const poll = async () => {
      const answer = await admin.delete(`${PATHS.configs}/${config}`);
      return !isUnconfigured(answer) && answer;
    };
    return until('the policies to be configured', poll);
  };
  await installed.applyOverlay('policy-floor');
  // Long enough that the API server has looked for the kind.
  await pause(3_000);
  await controlPlane.createOpenShiftCrds();
  const source = await cluster.config({ name: unique('99-worker') });
  const unconfigured = await cluster.dryRun(source);
  expect(isUnconfigured(unconfigured)).toBe(true);
  expect(statusOf(unconfigured)).toMatchObject({ code: 422, reason: 'Invalid' });
  const [ofNode, ofPool, unused] = [await cluster.config(), await cluster.config(), await cluster.config()];
  await cluster.node({ currentConfig: ofNode });
  await cluster.pool({ spec: ofPool });

  expect(policyDenialOf(await deleteUntilConfigured(ofPool))?.policy).toBe('pools');
  for (const config of [unused, source]) expect((await cluster.delete(config)).status).toBe(200);
  await awaitFloor(cluster);

  // After about every second start the policies are configured at once.
  for (let start = 0; start < 3; start += 1) {
    const apiServer = await controlPlane.startApiServer();
    const first = await apiServer.admin.delete(`${PATHS.configs}/${ofNode}`);
    expect(policyDenialOf(first)?.policy === 'nodes' || isUnconfigured(first)).toBe(true);
    for (const config of [ofPool, ofNode]) {
      expect((await deleteUntilConfigured(config, apiServer)).status).toBe(403);
    }
    await apiServer.stop();
  }
});
