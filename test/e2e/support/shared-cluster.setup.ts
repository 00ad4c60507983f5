import type { TestProject } from 'vitest/node';

import { GuardedCluster } from './guarded-cluster.ts';
import { runBinaries } from './run-binaries.ts';

/** Starts the clusters that tests share, one for each worker (see `sharedCluster`); what it returns stops them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const binaries = await runBinaries();
  const starts = Array.from({ length: project.config.maxWorkers }, () => GuardedCluster.start(binaries));
  // Where one fails, the leash of the others ends them with this process.
  const clusters = await Promise.all(starts);
  project.provide(
    'sharedClusters',
    clusters.map(({ connection }) => connection),
  );
  return async () => {
    await Promise.all(clusters.map((cluster) => cluster.stop()));
  };
}
