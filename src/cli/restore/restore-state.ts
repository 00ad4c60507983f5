import type { ConfigName } from '../../decision/config-name.ts';
import { hasStrongReference } from '../../decision/references.ts';
import type { ApiObject } from '../../kube/api-object.ts';
import type { KubeApi } from '../../kube/api.ts';
import { readPendingCertificateRequests, type PendingCertificateRequest } from '../../client/certificate-requests.ts';
import {
  filterManaged,
  listAll,
  parseInspectedNode,
  parseInspectedPool,
  readConfigNames,
  sortByName,
} from '../../client/cluster-reader.ts';
import {
  type ClusterSnapshot,
  findPoolOfNode,
  findReferencedConfig,
  type InspectedNode,
  type InspectedPool,
} from '../../client/cluster-snapshot.ts';
import { NODES, POOLS } from '../../references/sources.ts';

export const CONTROL_PLANE_POOL = 'master';

export interface RestorePool extends InspectedPool {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly machineConfigSelector: unknown;
}

/** What a restore depends on. */
export interface RestoreState extends ClusterSnapshot {
  /** Without those that are being deleted. */
  readonly pools: readonly RestorePool[];
  readonly pendingRequests: readonly PendingCertificateRequest[];
  /** The wanted number of control plane machines. Undefined if unknown. */
  readonly controlPlaneReplicas: number | undefined;
}

/** @throws ClusterAccessError, or the signal's reason */
export async function readRestoreState(
  api: KubeApi,
  controlPlaneReplicas: number | undefined,
  signal: AbortSignal,
): Promise<RestoreState> {
  const nodes = await listAll(api, NODES, parseInspectedNode, signal);
  const pools = await listAll(api, POOLS, parseRestorePool, signal);
  const { requests } = await readPendingCertificateRequests(api, signal);
  const configNames = await readConfigNames(api, signal);
  return {
    nodes: sortByName(filterManaged(nodes, pools)),
    pools: sortByName(pools).filter(({ referrer }) => referrer.isTerminating !== true),
    ...configNames,
    pendingRequests: requests,
    controlPlaneReplicas,
  };
}

/** Of these nodes, those whose Ready condition is not True. Their daemons cannot report either. */
export async function findUnreadyNodes(api: KubeApi, names: readonly string[], signal: AbortSignal): Promise<string[]> {
  const unready: string[] = [];
  for (const name of names) {
    // Only the list of nodes is permitted, and its metadata has no conditions.
    const resource = { ...NODES, isMetadataOnly: false };
    const query = { fieldSelector: `metadata.name=${name}` };
    const [isUnready] = await listAll(api, resource, isUnreadyNode, signal, query);
    if (isUnready === true) unready.push(name);
  }
  return unready;
}

function isUnreadyNode({ status }: ApiObject): boolean {
  const { conditions = [] } = (status ?? {}) as { readonly conditions?: readonly NodeCondition[] };
  return conditions.some((condition) => condition.type === 'Ready' && condition.status !== 'True');
}

interface NodeCondition {
  readonly type: string;
  readonly status: string;
}

function parseRestorePool(object: ApiObject): RestorePool {
  const { uid, resourceVersion } = object.metadata ?? {};
  return {
    ...parseInspectedPool(object),
    uid: String(uid),
    resourceVersion: String(resourceVersion),
    machineConfigSelector: (object.spec as { machineConfigSelector?: unknown } | undefined)?.machineConfigSelector,
  };
}

export function findPool({ pools }: RestoreState, name: string | undefined): RestorePool | undefined {
  return pools.find(({ referrer }) => referrer.name === name);
}

/** The nodes whose currentConfig or desiredConfig is the config. */
export function findNodesOfConfig({ nodes }: RestoreState, config: ConfigName): readonly InspectedNode[] {
  return nodes.filter(({ referrer }) => hasStrongReference(config, referrer));
}

/** Of these nodes, those whose update has failed (machine-config-operator, pkg/daemon/constants). */
export function findFailedNodes(nodes: readonly InspectedNode[]): readonly InspectedNode[] {
  return nodes.filter(({ state }) => state === 'Degraded' || state === 'Unreconcilable');
}

/** The number of machines that the pool lacks. 0 if their wanted number is unknown. */
export function countMissingMachines(state: RestoreState, { referrer: { name } }: RestorePool): number {
  const { nodes, pools, controlPlaneReplicas = 0 } = state;
  if (name !== CONTROL_PLANE_POOL) return 0;
  const joined = nodes.filter(
    (node) => node.referrer.isConfigUnreported !== true && findPoolOfNode(node, pools)?.referrer.name === name,
  );
  return Math.max(0, controlPlaneReplicas - joined.length);
}

/**
 * Whether new machines of the pool get no config: the machine-config-server serves the pool's spec once a machine
 * is updated, and else its status (machine-config-operator, pkg/server/cluster_server.go).
 */
export function needsStatus({ configs }: RestoreState, pool: RestorePool, config: ConfigName): boolean {
  const status = findReferencedConfig(pool.referrer, 'status');
  const isDangling = status === undefined || (status !== config && !configs.has(status));
  return isDangling && pool.updatedMachineCount === 0;
}

/** Whether the operator must not roll out another config before the machines of the pool have joined. */
export function needsPause(state: RestoreState, pool: RestorePool, config: ConfigName): boolean {
  const isStatusEmpty = findReferencedConfig(pool.referrer, 'status') === undefined;
  const isIncomplete = isStatusEmpty || needsStatus(state, pool, config) || countMissingMachines(state, pool) > 0;
  return isIncomplete && !pool.paused;
}
