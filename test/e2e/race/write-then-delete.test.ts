import { afterAll, expect, test } from 'vitest';

import { until } from '../control-plane/until.ts';
import { awaitGuardCalls } from '../support/cluster.ts';
import { countAnswers, Prober } from '../support/prober.ts';
import { IS_LONG } from '../support/run-binaries.ts';
import { sharedInstalledCluster } from '../support/shared-clusters.ts';

const ROUNDS = IS_LONG ? 10_000 : 200;

const { controlPlane } = await sharedInstalledCluster();
const first = controlPlane.apiServer;
const second = await controlPlane.startApiServer();
await awaitGuardCalls(second.admin);

afterAll(() => second.stop());

// The guard reads from the first one only.
test.for([
  { servers: 'one API server', write: first, deleteAt: first },
  { servers: 'a deletion at the second API server', write: first, deleteAt: second },
  { servers: 'a write at the second API server', write: second, deleteAt: first },
])(
  `denies ${ROUNDS} deletions that follow a write of the reference, and allows others: $servers`,
  { timeout: 1_200_000 },
  async ({ write, deleteAt }) => {
    const prober = await Prober.start(write.connection, deleteAt.connection);
    const countOf = (wanted: string) => prober.probes.filter(({ subject }) => subject === wanted).length;
    try {
      await until('the deletions', async () => countOf('moved') >= ROUNDS, { timeoutMs: 1_100_000 });
    } finally {
      await prober.stop();
    }

    console.log(countAnswers(prober.probes));
    expect(prober.faults).toEqual([]);
    expect(countOf('unused')).toBeGreaterThan(ROUNDS / 50);
  },
);
