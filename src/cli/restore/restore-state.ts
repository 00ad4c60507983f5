import { type ConfigName, hasStrongReference, isObjectName } from '../../decision/references.ts';
import {
  type ClusterSnapshot,
  type InspectedNode,
  type InspectedPool,
  type PendingCertificateRequest,
} from '../../diagnosis/cluster-snapshot.ts';
import { findDanglingReferences } from '../../diagnosis/dangling-references.ts';
import type { KubeApi } from '../../kube/api.ts';
import { readPendingCertificateRequests } from '../../client/certificate-requests.ts';
import { readClusterSnapshot } from '../../client/cluster-reader.ts';

/** What a restore depends on. Without pools that are being deleted. */
export interface RestoreState extends ClusterSnapshot {
  readonly pendingRequests: readonly PendingCertificateRequest[];
  readonly controlPlaneReplicas: number | undefined;
}

/** @throws ClusterAccessError, or the signal's reason */
export async function readRestoreState(
  api: KubeApi,
  controlPlaneReplicas: number | undefined,
  signal: AbortSignal,
): Promise<RestoreState> {
  const { requests: pendingRequests } = await readPendingCertificateRequests(api, signal);
  const snapshot = await readClusterSnapshot(api, undefined, signal);
  const pools = snapshot.pools.filter(({ referrer }) => referrer.isTerminating !== true);
  return { ...snapshot, pools, pendingRequests, controlPlaneReplicas };
}

/** The configs that a node or a pool needs. */
export function listReferencedNames({ nodes, pools }: Pick<ClusterSnapshot, 'nodes' | 'pools'>): ConfigName[] {
  const references = [...nodes, ...pools].flatMap(({ referrer }) => referrer.references);
  return [...new Set(references.filter(({ strength }) => strength === 'strong').map(({ config }) => config))];
}

/** An annotation can contain any text, so only names of objects count. */
export function listMissingNames({ nodes, pools, configs, terminatingConfigs }: ClusterSnapshot): ConfigName[] {
  const referrers = [...nodes, ...pools].map(({ referrer }) => referrer);
  const dangling = findDanglingReferences(referrers, new Set([...configs, ...terminatingConfigs]));
  return [...new Set(dangling.map(({ config }) => config))].filter(isObjectName);
}

export function findPool({ pools }: ClusterSnapshot, name: string | undefined): InspectedPool | undefined {
  return pools.find(({ referrer }) => referrer.name === name);
}

/** The nodes that name the config. */
export function findNodesOfConfig({ nodes }: ClusterSnapshot, config: ConfigName): readonly InspectedNode[] {
  return nodes.filter(({ referrer }) => hasStrongReference(config, referrer));
}
