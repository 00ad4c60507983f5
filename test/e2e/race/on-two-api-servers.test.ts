import { afterAll, beforeAll, expect, test } from 'vitest';

import type { ApiServer } from '../control-plane/control-plane.ts';
import { GuardedCluster } from '../support/guarded-cluster.ts';
import { race } from '../support/race.ts';
import { runBinaries } from '../support/run-binaries.ts';

const ROUNDS = 2_000;
const WORKERS = 6;

let guarded: GuardedCluster;
let first: ApiServer;
let second: ApiServer;

beforeAll(async () => {
  guarded = await GuardedCluster.start(await runBinaries());
  first = guarded.controlPlane.apiServer;
  second = await guarded.controlPlane.startApiServer();
});

afterAll(() => guarded.stop());

// The guard reads from the first server only: half of the workers write to the one that it does not read from.
test('2,000 writes to one API server, each followed by the deletion at another: none is allowed', async () => {
  const there = { write: first.admin, delete: second.admin };
  const back = { write: second.admin, delete: first.admin };

  const result = await race({
    lanes: Array.from({ length: WORKERS }, (_, index) => (Math.floor(index / 2) % 2 === 0 ? there : back)),
    rounds: ROUNDS,
  });

  console.log(result);
  expect(result.rounds).toBeGreaterThanOrEqual(ROUNDS);
  expect(result.wronglyAllowed).toBe(0);
  expect(result.refusals).toEqual({ MCG_IN_USE: result.rounds });
  expect(result.freed.tried).toBeGreaterThanOrEqual(90);
  expect(result.freed.allowed).toBe(result.freed.tried);
}, 180_000);
