import type { Binaries } from '../control-plane/binaries.ts';
import { MissingControlPlaneError } from '../control-plane/missing-control-plane-error.ts';
import type { Release } from '../control-plane/releases.ts';
import { findImages } from './images.ts';
import { findNodeBinaries } from './node-binaries.ts';
import { NodeCluster } from './node-cluster.ts';
import { requireNode } from './requirements.ts';

/**
 * Builds what nodes of a release need. Without it, the first test would wait for minutes.
 *
 * @returns why this machine cannot run nodes, in one sentence; undefined if it can
 */
export async function prepareNodes(release: Release, log: (line: string) => void): Promise<string | undefined> {
  try {
    requireNode(release);
    await findImages(await findNodeBinaries(release, log), log);
    return undefined;
  } catch (error) {
    if (error instanceof MissingControlPlaneError) return error.message;
    throw error;
  }
}

/**
 * Builds what is missing, and starts a cluster with this number of nodes.
 *
 * @throws MissingControlPlaneError if this machine cannot run a node
 */
export async function startNodeCluster(
  controlPlane: Binaries,
  nodeCount: number,
  log: (line: string) => void,
): Promise<NodeCluster> {
  requireNode(controlPlane.release);
  const nodeBinaries = await findNodeBinaries(controlPlane.release, log);
  const images = await findImages(nodeBinaries, log);
  log(`Starting ${nodeCount} node${nodeCount === 1 ? '' : 's'} …`);
  return NodeCluster.start({ controlPlane, nodeBinaries, images }, nodeCount);
}
