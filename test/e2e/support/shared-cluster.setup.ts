import type { TestProject } from 'vitest/node';

import { GuardedCluster } from './guarded-cluster.ts';
import { runBinaries } from './run-binaries.ts';

/** Starts the cluster that the tests of one run share (see `sharedCluster`); what it returns stops it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const cluster = await GuardedCluster.start(await runBinaries());
  project.provide('sharedCluster', cluster.connection);
  return () => cluster.stop();
}
