import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, expect, test } from 'vitest';

import { memoryOf, resetPeak } from '../../bench/memory.ts';
import { MANIFESTS } from '../support/overlays.ts';
import { Prober } from '../support/prober.ts';
import { sharedGuardedCluster } from '../support/shared-clusters.ts';
import { Attacker, findDamage } from './attacker.ts';
import { createAttacks, startFlood } from './flood.ts';

/** Deletions during a flood. Each may wait for 5 s, and they are sent without waiting for each other. */
const FLOODED_PROBES = 80;

const deployment = await readFile(join(MANIFESTS, 'base', 'deployment.yaml'), 'utf8');
const limitMiB = Number(/limits:\s+memory: (\d+)Mi/.exec(deployment)?.[1]);

const guarded = await sharedGuardedCluster();
const attacker = await Attacker.create(guarded);

afterAll(async () => {
  expect(await findDamage(guarded)).toEqual([]);
});

// They take all processor time for minutes.
test.each(createAttacks(attacker))(
  'answers no deletion wrongly during $title over $connections connections, and each one rightly afterwards',
  async (attack) => {
    const { pid } = guarded.guard;
    await resetPeak(pid);
    const prober = await Prober.start(guarded.cluster.admin);
    try {
      await prober.awaitMore(20);
      const flood = await startFlood(attacker, attack);
      await prober.awaitMore(FLOODED_PROBES);
      await flood.terminate();
      await prober.awaitRightAnswers(5);
      await prober.stop();
      const { peak } = await memoryOf(pid);
      expect(prober.wrongAnswers).toEqual([]);
      expect(guarded.guard.pid).toBe(pid);
      expect((peak * 1e6) / 2 ** 20).toBeLessThan(limitMiB);
    } finally {
      await prober.stop();
    }
  },
);
