import { afterAll, beforeAll, expect, test } from 'vitest';

import { statusOf, type KubeResponse } from '../control-plane/kube-client.ts';
import { pause, until } from '../control-plane/until.ts';
import { unique } from '../support/cluster.ts';
import { awaitFloor, awaitKnown, refusalOf } from '../support/floor.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { runBinaries } from '../support/run-binaries.ts';

/** As docs/policy-floor.md and the policy itself quote it. */
const GAP =
  "ValidatingAdmissionPolicy 'pools.machineconfig-guard.io' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'machineconfiguration.openshift.io/v1, Kind=MachineConfigPool'";
/** The API server looks for new kinds every 30 seconds. */
const GAP_MS = 40_000;

let installed: InstalledCluster;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries(), { openshift: false });
  await installed.applyOverlay('policy-floor');
}, 120_000);

afterAll(() => installed.stop());

function inTheGap(response: KubeResponse): boolean {
  return statusOf(response).message?.includes(GAP) === true;
}

/** Deletes again and again until it is decided; every answer before that must be the gap, never a deletion. */
async function afterTheGap(
  config: string,
): Promise<{ readonly status: number; readonly gaps: readonly KubeResponse[] }> {
  const gaps: KubeResponse[] = [];
  return until(
    'the policies to be configured',
    async () => {
      const response = await installed.cluster.delete(config);
      if (!inTheGap(response)) return { status: response.status, gaps };
      gaps.push(response);
      return undefined;
    },
    { timeoutMs: GAP_MS },
  );
}

test('applied before pools are defined: everything is refused for a while, source configs too, then it is decided', async () => {
  // Long enough for the API server to have looked for the kind in vain.
  await pause(3_000);
  await installed.controlPlane.installOpenShift();
  const { cluster } = installed;
  const [used, free] = [await cluster.config(), await cluster.config()];
  const source = await cluster.config({ name: unique('99-worker') });
  await cluster.pool({ spec: used });
  const early = await installed.dryRun(source);

  const { status, gaps } = await afterTheGap(used);

  expect({ status, exists: await cluster.exists(used) }).toEqual({ status: 403, exists: true });
  // Were there none, the text in the documentation would be about nothing.
  expect(gaps.length).toBeGreaterThan(0);
  expect(statusOf(gaps[0] as KubeResponse)).toMatchObject({ code: 422, reason: 'Invalid' });
  expect(inTheGap(early)).toBe(true);
  expect((await cluster.delete(free)).status).toBe(200);
  expect((await cluster.delete(source)).status).toBe(200);
  await awaitFloor(installed);
}, 120_000);

// After about every second restart it is configured at once: the gap is allowed here, not asked for.
test('through restarts of the API server: what a node or a pool uses stays, from its first answer on', async () => {
  const { cluster } = installed;
  const [byNode, byPool] = [await cluster.config(), await cluster.config()];
  await cluster.node({ currentConfig: byNode });
  await cluster.pool({ spec: byPool });
  await awaitKnown(installed, byNode, ['nodes']);

  for (let restart = 0; restart < 2; restart += 1) {
    await installed.controlPlane.apiServer.restart();
    const first = await cluster.delete(byNode);
    expect(refusalOf(first)?.policy === 'nodes' || inTheGap(first)).toBe(true);
    for (const config of [byPool, byNode]) {
      const { status } = await afterTheGap(config);
      expect({ status, exists: await cluster.exists(config) }).toEqual({ status: 403, exists: true });
    }
  }
  await awaitFloor(installed);
}, 180_000);
