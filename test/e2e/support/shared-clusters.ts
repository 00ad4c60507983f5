import type { GuardProcesses } from './guard-processes.ts';
import { startGuardedCluster, type GuardedCluster } from './guarded-cluster.ts';
import { InstalledCluster } from './installed-cluster.ts';

let installed: Promise<InstalledCluster<GuardProcesses>> | undefined;
let guarded: Promise<GuardedCluster> | undefined;

/**
 * A cluster with the overlay `monitoring`, two replicas and the mode Enforce. The test files of a worker
 * share it, one after another, and leave it as they found it. Objects of other files may exist.
 */
export function sharedInstalledCluster() {
  return (installed ??= startInstalledCluster());
}

/** A cluster with one guard process behind a network that can fail. The test files of a worker share it. */
export function sharedGuardedCluster() {
  return (guarded ??= startGuardedCluster());
}

async function startInstalledCluster(): Promise<InstalledCluster<GuardProcesses>> {
  const cluster = await InstalledCluster.start(['prometheus-operator']);
  await cluster.applyOverlay('monitoring');
  await cluster.awaitGuard();
  return cluster;
}
