import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Binaries } from '../control-plane/binaries.ts';
import { ProcessReaper } from '../control-plane/process-reaper.ts';
import { buildImages } from './images.ts';
import { findNodeBinaries } from './node-binaries.ts';
import { NodeCluster } from './node-cluster.ts';
import { requireNode } from './requirements.ts';

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
  const directory = await mkdtemp(join(tmpdir(), 'mcg-images-'));
  const reaper = new ProcessReaper(directory);
  try {
    log('Building the image …');
    const images = await buildImages(directory, nodeBinaries);
    log(`Starting ${nodeCount} node${nodeCount === 1 ? '' : 's'} …`);
    return await NodeCluster.start({ controlPlane, nodeBinaries, images }, nodeCount);
  } finally {
    // Every containerd has its own copy.
    await reaper.reap();
  }
}
