import { afterAll, beforeAll, expect, test } from 'vitest';

import { pause } from '../control-plane/until.ts';
import { InstalledCluster } from '../support/installed-cluster.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { SteadyDeletes } from '../support/steady-deletes.ts';

/** Of a call that nobody answers: the timeout of the webhook. */
const TIMEOUT_MS = 5_000;

let installed: InstalledCluster;

beforeAll(async () => {
  installed = await InstalledCluster.start(await runBinaries());
  await installed.applyOverlay('service-ca');
  await installed.awaitGuard();
}, 120_000);

afterAll(() => installed.stop());

test('killed: calls under way may fail, those that come later do not, and nothing is let go', async () => {
  const load = SteadyDeletes.start(installed.cluster);
  await load.more(100);
  const [victim] = installed.kubelet.pods;

  const killedAt = load.now;
  victim?.signal('SIGKILL');
  await pause(8_000);
  await load.stop();

  expect(load.faults.filter(({ came }) => came === 'wrong')).toEqual([]);
  expect(load.faults.filter(({ at }) => at < killedAt - TIMEOUT_MS || at > killedAt + 3_000)).toEqual([]);
  // The other one served on: most of what was asked afterwards was answered.
  expect(load.asked.filter(({ at, came }) => at > killedAt && came === 'right').length).toBeGreaterThan(100);
}, 120_000);

test('frozen: calls fail until it is out of the Service and its connections are given up, then none, and nothing is let go', async () => {
  await installed.kubelet.settled();
  const load = SteadyDeletes.start(installed.cluster);
  await load.more(100);
  const [victim] = installed.kubelet.pods;

  const frozenAt = load.now;
  victim?.signal('SIGSTOP');
  await pause(25_000);
  const recovered = load.faults.at(-1);
  await load.more(100);
  await load.stop();
  victim?.signal('SIGCONT');

  expect(load.faults.filter(({ came }) => came === 'wrong')).toEqual([]);
  // Each client loses at most one call to each connection that the API server kept to the frozen one.
  expect(load.faults.filter(({ at }) => at < frozenAt - TIMEOUT_MS || at > frozenAt + 15_000)).toEqual([]);
  expect(load.faults.at(-1)).toBe(recovered);
}, 180_000);
