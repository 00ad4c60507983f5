import { expect, test } from 'vitest';

import { sharedCluster } from '../support/cluster.ts';
import { race } from '../support/race.ts';

const cluster = sharedCluster();
const ROUNDS = 2_000;
const WORKERS = 6;

test('2,000 deletions sent right after the write that makes the config used: none is allowed', async () => {
  const lane = { write: cluster.admin, delete: cluster.admin };

  const result = await race({ lanes: Array.from({ length: WORKERS }, () => lane), rounds: ROUNDS });

  console.log(result);
  expect(result.rounds).toBeGreaterThanOrEqual(ROUNDS);
  expect(result.wronglyAllowed).toBe(0);
  expect(result.refusals).toEqual({ MCG_IN_USE: result.rounds });
  expect(result.freed.tried).toBeGreaterThanOrEqual(90);
  expect(result.freed.allowed).toBe(result.freed.tried);
}, 180_000);
