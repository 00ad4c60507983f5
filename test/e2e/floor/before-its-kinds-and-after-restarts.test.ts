import { afterAll, beforeAll, expect, test } from 'vitest';

import { statusOf } from '../control-plane/kube-client.ts';
import { pause, until } from '../control-plane/until.ts';
import { awaitFloor, refusalOf } from '../support/floor.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { runBinaries } from '../support/run-binaries.ts';

/** As docs/troubleshooting.md and the policy itself quote it. */
const GAP = 'failed to configure policy: failed to find resource referenced by paramKind';
const GAP_MS = 60_000;

let installed: InstalledCluster;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries(), { openshift: false });
  await installed.applyOverlay('policy-floor');
}, 120_000);

afterAll(() => installed.stop());

/** Deletes again and again until it is decided; every answer before that must be the gap, never a deletion. */
async function outcomeAfterTheGap(config: string): Promise<{ readonly status: number; readonly gaps: number }> {
  let gaps = 0;
  return until(
    'the policies to be configured',
    async () => {
      const response = await installed.cluster.delete(config);
      if (!statusOf(response).message?.includes(GAP)) return { status: response.status, gaps };
      gaps += 1;
      return undefined;
    },
    { timeoutMs: GAP_MS },
  );
}

test('applied before pools are defined: refused while the gap lasts, never let go, then decided', async () => {
  // Long enough for the API server to have looked for the kind in vain.
  await pause(5_000);
  await installed.controlPlane.installOpenShift();
  const { cluster } = installed;
  const used = await cluster.config();
  await cluster.pool({ spec: used });

  const { status, gaps } = await outcomeAfterTheGap(used);

  expect({ status, exists: await cluster.exists(used) }).toEqual({ status: 403, exists: true });
  // Were there none, the text in the documentation would be about nothing.
  expect(gaps).toBeGreaterThan(0);
  await awaitFloor(installed);
}, 120_000);

test('through restarts of the API server: what a node or a pool uses stays', async () => {
  const { cluster } = installed;
  const [byNode, byPool] = [await cluster.config(), await cluster.config()];
  await cluster.node({ currentConfig: byNode });
  await cluster.pool({ spec: byPool });

  for (let restart = 0; restart < 2; restart += 1) {
    await installed.controlPlane.apiServer.restart();
    for (const config of [byPool, byNode]) {
      const { status } = await outcomeAfterTheGap(config);
      expect({ status, exists: await cluster.exists(config) }).toEqual({ status: 403, exists: true });
    }
  }
  expect(refusalOf(await installed.dryRun(byNode))?.policy).toBe('nodes');
}, 180_000);
