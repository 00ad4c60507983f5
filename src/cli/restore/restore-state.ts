import { parse } from 'yaml';
import { type ConfigName, hasStrongReference } from '../../decision/references.ts';
import type { ApiObject } from '../../kube/api-object.ts';
import { BUILDS_PATHS, CONTROLLER_CONFIGS_PATH, OS_IMAGE_STREAMS_PATHS } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { readPendingCertificateRequests, type PendingCertificateRequest } from '../../client/certificate-requests.ts';
import { isRetryableRead, orForbidden, readObject } from '../../client/cluster-access.ts';
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
  type InspectedNode,
  type InspectedPool,
} from '../../client/cluster-snapshot.ts';
import { readWithRetries } from '../../client/poll.ts';
import { MACHINE_CONFIGS, NODES, POOLS } from '../../references/sources.ts';

export const CONTROL_PLANE_POOL = 'master';

export interface RestorePool extends InspectedPool {
  readonly uid: string;
  readonly resourceVersion: string;
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

function parseRestorePool(object: ApiObject): RestorePool {
  const { uid, resourceVersion } = object.metadata ?? {};
  return { ...parseInspectedPool(object), uid: String(uid), resourceVersion: String(resourceVersion) };
}

export function findPool({ pools }: RestoreState, name: string | undefined): RestorePool | undefined {
  return pools.find(({ referrer }) => referrer.name === name);
}

/** The nodes whose currentConfig or desiredConfig is the config. */
export function findNodesOfConfig({ nodes }: RestoreState, config: ConfigName): readonly InspectedNode[] {
  return nodes.filter(({ referrer }) => hasStrongReference(config, referrer));
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

/** The installer stores its configuration here, and the etcd operator reads the same field. */
const INSTALL_CONFIG_PATH = '/api/v1/namespaces/kube-system/configmaps/cluster-config-v1';

/**
 * The wanted number of control plane machines. Undefined if the cluster does not say it, or denies access.
 *
 * @throws ClusterAccessError or TimeoutError if the API server cannot answer now, or the signal's reason
 */
export async function readControlPlaneReplicas(api: KubeApi, signal: AbortSignal): Promise<number | undefined> {
  try {
    const configMap = await readWithRetries((limited) => readObject(api, INSTALL_CONFIG_PATH, 'get', limited), signal);
    const { data } = configMap as { readonly data?: Readonly<Record<string, string>> };
    const installConfig = parse(data?.['install-config'] ?? '') as { controlPlane?: { replicas?: unknown } };
    const replicas = installConfig.controlPlane?.replicas;
    return typeof replicas === 'number' ? replicas : undefined;
  } catch (error) {
    if (signal.aborted || isRetryableRead(error)) throw error;
    return undefined;
  }
}

/** Older releases lack some kinds, and a user can lack the right to read them. */
const IMAGE_SOURCES = [CONTROLLER_CONFIGS_PATH, ...BUILDS_PATHS, ...OS_IMAGE_STREAMS_PATHS];
const PULL_SPEC = /[\w.:/-]+@sha256:[0-9a-f]{64}/g;

/** The pull specs in the cluster that can be the osImageURL of a config. Throws like {@link readRestoreState}. */
export async function readImages(api: KubeApi, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const images = new Set<string>();
  const addImage = ({ spec }: ApiObject): void => {
    const { osImageURL } = (spec ?? {}) as { readonly osImageURL?: unknown };
    if (typeof osImageURL === 'string') images.add(osImageURL);
  };
  await listAll(api, { ...MACHINE_CONFIGS, isMetadataOnly: false }, addImage, signal);
  for (const path of IMAGE_SOURCES) {
    const list = await orForbidden(readObject(api, path, 'list', signal));
    for (const [image] of JSON.stringify(list ?? null).matchAll(PULL_SPEC)) images.add(image);
  }
  return images;
}
