import { InstalledCluster } from '../support/installed-cluster.ts';
import { kubectlOk } from '../support/kubectl.ts';
import { listLeftovers } from '../support/overlays.ts';
import { log, runBinaries } from '../support/runner.ts';
import { GuardPods } from './guard-pods.ts';
import { NodeCluster } from './node-cluster.ts';

/** As the control plane of OpenShift. With two nodes, a new replica waits until an old one has ended. */
const NODES = 3;
let started: Promise<InstalledCluster<GuardPods>> | undefined;

/**
 * A cluster with real nodes and without the guard. The test files of a worker share it, one after another, and need not
 * remove what they have installed.
 */
export async function sharedNodeCluster(): Promise<InstalledCluster<GuardPods>> {
  if (started === undefined) return (started = start());
  const cluster = await started;
  await removeGuard(cluster);
  await cluster.clear();
  return cluster;
}

async function start(): Promise<InstalledCluster<GuardPods>> {
  const nodes = await NodeCluster.start(await runBinaries(), NODES, log);
  await nodes.controlPlane.installProjects('prometheus-operator', 'openshift-config');
  return new InstalledCluster(nodes.controlPlane, new GuardPods(nodes));
}

/** Removes the guard without its graceful shutdown, and returns when nothing of it is left. */
export async function removeGuard({ controlPlane }: InstalledCluster) {
  const force = ['--namespace=machineconfig-guard', '--all', '--force', '--grace-period=0'];
  // First, because the namespace controller pauses for half the grace period of the pods that it finds.
  const running = 'deployments,replicasets,pods';
  await kubectlOk(controlPlane, ['delete', running, ...force, '--cascade=orphan', '--wait=false']);
  const names = await listLeftovers(controlPlane);
  // The namespace may be terminating already.
  if (names.length > 0) await kubectlOk(controlPlane, ['delete', '--ignore-not-found', ...names]);
}
