import { afterAll, expect, test } from 'vitest';

import { statusOf, type KubeResponse } from '../control-plane/kube-client.ts';
import { pause, until } from '../control-plane/until.ts';
import { unique } from '../support/cluster.ts';
import { awaitFloor, policyDenialOf } from '../support/floor.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { PATHS } from '../support/paths.ts';
import { IS_LONG } from '../support/run-binaries.ts';

/** The API server denies with this text until it knows the kind of the parameters. */
const UNCONFIGURED = 'failed to configure policy: failed to find resource referenced by paramKind';
/** The API server looks for new kinds every 30 s. */
const DISCOVERY_MS = 40_000;
const STARTS = IS_LONG ? 5 : 1;

const installed = await InstalledCluster.start([], { openshift: false });
const { cluster, controlPlane } = installed;
await installed.applyOverlay('policy-floor');
// Long enough that the API server has looked for the kind.
await pause(3_000);
await controlPlane.installOpenShift();

afterAll(() => installed.stop());

function isUnconfigured(response: KubeResponse): boolean {
  return statusOf(response).message?.includes(UNCONFIGURED) === true;
}

/** Deletes a config until the policies are configured, and returns that answer. */
async function deleteUntilConfigured(config: string, { admin } = controlPlane.apiServer): Promise<KubeResponse> {
  const poll = async () => {
    const answer = await admin.delete(`${PATHS.configs}/${config}`);
    return !isUnconfigured(answer) && answer;
  };
  return until('the policies to be configured', poll, { timeoutMs: DISCOVERY_MS });
}

// Both tests wait for the API server at the same time.
test.concurrent(
  'denies every deletion until the API server knows the kind of the new pool CRD',
  async () => {
    const [used, unused] = [await cluster.config(), await cluster.config()];
    const source = await cluster.config({ name: unique('99-worker') });
    await cluster.pool({ spec: used });
    const unconfigured = await cluster.dryRun(source);
    expect(isUnconfigured(unconfigured)).toBe(true);
    expect(statusOf(unconfigured)).toMatchObject({ code: 422, reason: 'Invalid' });

    const answer = await deleteUntilConfigured(used);

    expect(policyDenialOf(answer)?.policy).toBe('pools');
    expect((await cluster.delete(unused)).status).toBe(200);
    expect((await cluster.delete(source)).status).toBe(200);
    await awaitFloor(cluster);
  },
  120_000,
);

// After about every second start the policies are configured at once.
test.concurrent(
  'denies a config in use from the start of an API server on',
  async () => {
    const [ofNode, ofPool] = [await cluster.config(), await cluster.config()];
    await cluster.node({ currentConfig: ofNode });
    await cluster.pool({ spec: ofPool });

    for (let start = 0; start < STARTS; start += 1) {
      const apiServer = await controlPlane.startApiServer();
      const first = await apiServer.admin.delete(`${PATHS.configs}/${ofNode}`);
      expect(policyDenialOf(first)?.policy === 'nodes' || isUnconfigured(first)).toBe(true);
      for (const config of [ofPool, ofNode]) {
        expect((await deleteUntilConfigured(config, apiServer)).status).toBe(403);
      }
      await apiServer.stop();
    }
  },
  300_000,
);
