import { afterAll, expect, test } from 'vitest';
import { ControlPlane } from '../control-plane/control-plane.ts';
import { until } from '../control-plane/until.ts';
import { Cluster } from '../support/cluster.ts';
import { GuardProcesses } from '../support/guard-processes.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { probeCalls } from '../support/prober.ts';
import { IS_LONG, runBinaries } from '../support/runner.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

const ROUNDS = IS_LONG ? 500 : 50;
/** How late the API server of the guard learns of writes. Each decision from its cache is wrong then. */
const LAG_MS = 100;

const controlPlane = await ControlPlane.start(await runBinaries());
const other = controlPlane.apiServer;
const etcd = await startTcpProxy(Number(new URL(controlPlane.etcd.url).port), { delayMs: LAG_MS });
const lagging = await controlPlane.startApiServer(`http://127.0.0.1:${etcd.port}`);
const installed = new InstalledCluster(controlPlane, new GuardProcesses(controlPlane, [lagging.url]));
await installed.applyOverlay('service-ca');
await installed.awaitGuard();
await new Cluster(lagging).awaitGuardCalls();

afterAll(() => installed.stop());

// The guard decides wrongly from a stale cache if both requests are sent to the other API server.
test.for(['lagging', 'other'] as const)(
  `denies ${ROUNDS} deletions right after the write of a reference, at the %s API server`,
  { timeout: 1_800_000 },
  async (server) => {
    let allowed = 0;
    const failedCalls = await probeCalls(new Cluster({ lagging, other }[server]), async (prober) => {
      const isEnough = async () => prober.countRight('moved') >= ROUNDS || prober.wrongAnswers.length > 0;
      await until('the deletions', isEnough, { timeoutMs: 1_700_000 });
      allowed = prober.countRight('unused');
    });

    expect(failedCalls).toEqual([]);
    expect(allowed).toBeGreaterThan(ROUNDS / 50);
  },
);
