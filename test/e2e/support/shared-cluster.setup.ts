import type { TestProject } from 'vitest/node';

import { GuardedCluster } from './guarded-cluster.ts';
import { runBinaries } from './run-binaries.ts';

/** Starts the clusters that tests share, one for each worker (see `sharedCluster`); what it returns stops them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const binaries = await runBinaries();
  const clusters: GuardedCluster[] = [];
  const stop = async () => {
    await Promise.all(clusters.map((cluster) => cluster.stop()));
  };
  try {
    while (clusters.length < project.config.maxWorkers) clusters.push(await GuardedCluster.start(binaries));
  } catch (error) {
    await stop();
    throw error;
  }
  project.provide(
    'sharedClusters',
    clusters.map(({ connection }) => connection),
  );
  return stop;
}
