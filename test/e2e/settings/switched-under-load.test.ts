import { afterAll, beforeAll, expect, test } from 'vitest';

import { KubeClient } from '../control-plane/kube-client.ts';
import { pause } from '../control-plane/until.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { PATHS } from '../support/paths.ts';
import { runBinaries } from '../support/run-binaries.ts';

/** Within which a change of the mode works. */
const EFFECT_MS = 2_000;
const PHASE_MS = 4_000;
const CLIENTS = 4;

let installed: InstalledCluster;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries());
  await installed.applyOverlay('service-ca');
  await installed.awaitGuard();
}, 120_000);

afterAll(() => installed.stop());

test('under steady deletions the mode changes within two seconds, and no call fails', async () => {
  const config = await installed.cluster.config();
  await installed.cluster.node({ currentConfig: config });
  const asked: { readonly at: number; readonly status: number }[] = [];
  const stopping = new AbortController();
  const client = async () => {
    const kube = new KubeClient(installed.cluster.connection.admin);
    while (!stopping.signal.aborted) {
      const at = performance.now();
      const { status } = await kube.delete(`${PATHS.configs}/${config}`, { dryRun: 'All' });
      asked.push({ at, status });
      await pause(5);
    }
    kube.close();
  };
  const load = Promise.all(Array.from({ length: CLIENTS }, client));
  const phases: { readonly mode: string; readonly status: number; readonly from: number; to: number }[] = [];
  for (const [mode, status] of [
    ['Audit', 200],
    ['Enforce', 403],
    ['Disabled', 200],
    ['Enforce', 403],
  ] as const) {
    await installed.cluster.admin.patch(PATHS.guard, { spec: { mode } });
    const from = performance.now() + EFFECT_MS;
    await pause(PHASE_MS);
    phases.push({ mode, status, from, to: performance.now() });
  }
  stopping.abort();
  await load;

  expect(asked.filter(({ status }) => status !== 200 && status !== 403)).toEqual([]);
  for (const { mode, status, from, to } of phases) {
    const settled = asked.filter(({ at }) => at > from && at < to);
    expect(settled.length).toBeGreaterThan(50);
    expect([mode, ...new Set(settled.map((one) => one.status))]).toEqual([mode, status]);
  }
}, 60_000);
