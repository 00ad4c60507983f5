import { afterAll, beforeAll, expect, test } from 'vitest';

import { ControlPlane } from '../control-plane/control-plane.ts';
import { race } from '../support/race.ts';
import { runBinaries } from '../support/run-binaries.ts';
import { startStaleGuard } from '../support/stale-guard.ts';

let controlPlane: ControlPlane;
let stopGuard: () => Promise<void>;

beforeAll(async () => {
  controlPlane = await ControlPlane.start(await runBinaries());
  stopGuard = await startStaleGuard(controlPlane.apiServer.admin);
});

afterAll(async () => {
  await stopGuard();
  await controlPlane.stop();
});

test('the same race catches a guard that decides by a cache 50 ms old', async () => {
  const { admin } = controlPlane.apiServer;

  const result = await race({
    lanes: [
      { write: admin, delete: admin },
      { write: admin, delete: admin },
    ],
    rounds: 200,
  });

  console.log(result);
  expect(result.wronglyAllowed).toBeGreaterThan(0);
});
