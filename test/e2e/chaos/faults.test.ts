import { afterAll, expect, test } from 'vitest';

import { IS_LONG } from '../support/run-binaries.ts';
import { sharedGuardedCluster } from '../support/shared-clusters.ts';
import { FAULTS } from './faults.ts';
import { findProblems } from './run-fault.ts';

const cluster = await sharedGuardedCluster();

afterAll(() => cluster.launchGuard(), 60_000);

test.for(FAULTS.filter(({ isInShortRun }) => IS_LONG || isInShortRun === true))(
  'decides rightly during the fault and recovers: $name',
  { timeout: 400_000 },
  async (fault) => {
    expect(await findProblems(cluster, fault)).toEqual([]);
  },
);
