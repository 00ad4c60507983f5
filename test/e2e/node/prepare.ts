import type { Binaries } from '../control-plane/binaries.ts';
import type { Log } from '../control-plane/go-build.ts';
import { findPrograms } from '../control-plane/kubernetes-module.ts';
import type { Release } from '../control-plane/releases.ts';
import { findImages } from './images.ts';
import { NodeCluster } from './node-cluster.ts';
import { requireNode } from './requirements.ts';

/** Built apart from those of the control plane, which most runs need alone. */
const PROGRAMS = ['kubelet', 'kube-proxy', 'kube-scheduler'].map((name) => {
  return { name, package: `k8s.io/kubernetes/cmd/${name}` };
});

/**
 * Builds what nodes of a release need besides the control plane.
 *
 * @throws MissingControlPlaneError if this machine cannot run a node
 */
export async function findNodeFiles(release: Release, log: Log) {
  requireNode(release);
  return { nodeBinaries: await findPrograms('node', release, PROGRAMS, log), images: await findImages(log) };
}

/**
 * Builds what is missing, and starts a cluster with this number of nodes.
 *
 * @throws MissingControlPlaneError if this machine cannot run a node
 */
export async function startNodeCluster(controlPlane: Binaries, nodeCount: number, log: Log): Promise<NodeCluster> {
  const files = await findNodeFiles(controlPlane.release, log);
  log(`Starting ${nodeCount} node${nodeCount === 1 ? '' : 's'} …`);
  return NodeCluster.start({ controlPlane, ...files }, nodeCount);
}
