import { afterAll, expect, test } from 'vitest';

import { awaitGuardCalls } from '../support/cluster.ts';
import { race } from '../support/race.ts';
import { IS_LONG } from '../support/run-binaries.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

const ROUNDS = IS_LONG ? 10_000 : 500;
const LANES = 6;

const { controlPlane } = await sharedInstalledCluster();
const first = controlPlane.apiServer;
const second = await controlPlane.startApiServer();
await awaitGuardCalls(second.admin);

afterAll(() => second.stop());

test.for([
  { servers: 'one API server', lanes: [{ write: first.admin, delete: first.admin }] },
  {
    // The guard reads from the first one only.
    servers: 'two API servers',
    lanes: [
      { write: first.admin, delete: second.admin },
      { write: second.admin, delete: first.admin },
    ],
  },
])(
  `denies ${ROUNDS} deletions that follow a write of the reference: $servers`,
  { timeout: 600_000 },
  async ({ lanes }) => {
    const all = Array.from({ length: LANES }, (_, index) => lanes[index % lanes.length] ?? expect.fail('no lane'));

    const result = await race({ lanes: all, rounds: ROUNDS });

    console.log(result);
    expect(result.rounds).toBeGreaterThanOrEqual(ROUNDS);
    expect(result.wronglyAllowed).toBe(0);
    expect(result.refusals).toEqual({ MCG_IN_USE: result.rounds });
    expect(result.freed.tried).toBeGreaterThanOrEqual(ROUNDS / 25);
    expect(result.freed.allowed).toBe(result.freed.tried);
  },
);
