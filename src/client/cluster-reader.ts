import { parse } from 'yaml';
import { groupBy } from '../common/group-by.ts';
import type { Referrer } from '../mco/referrer.ts';
import type { InspectedNode, InspectedPool } from '../diagnosis/cluster-snapshot.ts';
import { type ApiObject, findWriteTime, parseTime } from '../kube/api-object.ts';
import type { KubeApi } from '../kube/api.ts';
import { listCollection, listResource } from '../kube/lists/list.ts';
import { isManagedByOperator } from '../mco/pool-of-node.ts';
import { listPoolSources } from '../rendered-config/rendered-config.ts';
import { accessCluster, isRetryableRead, readObject } from './cluster-access.ts';
import { PAUSED_FOR_RESTORE } from '../api/annotations.ts';
import { MCO_GROUP } from '../mco/api-paths.ts';
import type { WatchedConfig } from '../mco/machine-config.ts';
import { BUILDS, MACHINE_CONFIGS, NODES, POOLS } from '../mco/resources.ts';
import type { Resource } from '../kube/resource.ts';

// All read functions throw a ClusterAccessError, or the signal's reason.

/** Lists the configs last, so that a missing config did not exist after the references were read. */
export async function readClusterSnapshot(api: KubeApi, labelSelector: string | undefined, signal: AbortSignal) {
  const cluster = await readNodesAndPools(api, signal, labelSelector === undefined ? {} : { labelSelector });
  const all = await readConfigs(api, signal);
  const findNames = (isWanted: (config: WatchedConfig) => boolean) => all.filter(isWanted).map(({ name }) => name);
  return {
    ...cluster,
    configs: new Set(findNames(({ isTerminating }) => !isTerminating)),
    terminatingConfigs: new Set(findNames(({ isTerminating }) => isTerminating)),
    createdAt: new Map(all.map((config) => [config.name, config.createdAt])),
    overriddenConfigs: findNames(({ isOverridden }) => isOverridden),
  };
}

/** @returns also the time of the first list by the clock of the API server */
async function readNodesAndPools(api: KubeApi, signal: AbortSignal, query: Readonly<Record<string, string>> = {}) {
  const { items: allNodes, servedAt: at } = await list(api, NODES, parseInspectedNode, signal, query);
  const pools = sortByName(await listAll(api, POOLS, parseInspectedPool, signal));
  const poolReferrers = pools.map(({ referrer }) => referrer);
  const managed = groupBy(sortByName(allNodes), ({ referrer }) => isManagedByOperator(referrer, poolReferrers));
  const skippedNodes = (managed.get(false) ?? []).map(({ referrer }) => referrer.name);
  return { nodes: managed.get(true) ?? [], skippedNodes, pools, at };
}

export async function readConfigs(api: KubeApi, signal: AbortSignal): Promise<WatchedConfig[]> {
  return await listAll(api, MACHINE_CONFIGS, MACHINE_CONFIGS.parse, signal);
}

export async function readReferrers(api: KubeApi, signal: AbortSignal) {
  const cluster = await readNodesAndPools(api, signal);
  const referrers: Referrer[] = [...cluster.nodes, ...cluster.pools].map(({ referrer }) => referrer);
  const addBuild = (build: ApiObject): void => void referrers.push(BUILDS.parse(build));
  await accessCluster('list', BUILDS.paths[0], signal, () => listResource(api, BUILDS, addBuild, signal));
  return { ...cluster, referrers };
}

/** The installer stores its configuration here, and the etcd operator reads the same field. */
const INSTALL_CONFIG_PATH = '/api/v1/namespaces/kube-system/configmaps/cluster-config-v1';

/** The wanted number of control plane machines. Undefined if the cluster does not say it, or denies access. */
export async function readControlPlaneReplicas(api: KubeApi, signal: AbortSignal): Promise<number | undefined> {
  try {
    const configMap = await readObject(api, INSTALL_CONFIG_PATH, 'get', signal);
    const { data } = configMap as { readonly data?: Readonly<Record<string, string>> };
    const installConfig = parse(data?.['install-config'] ?? '') as { controlPlane?: { replicas?: unknown } };
    const replicas = installConfig.controlPlane?.replicas;
    return typeof replicas === 'number' ? replicas : undefined;
  } catch (error) {
    if (signal.aborted || isRetryableRead(error)) throw error;
    return undefined;
  }
}

type Listable = Pick<Resource<{ readonly name: string }>, 'kind' | 'paths' | 'isMetadataOnly'>;

export async function listAll<T>(...args: Parameters<typeof list<T>>): Promise<T[]> {
  return (await list(...args)).items;
}

/** A 404 is an error: a missing CRD does not mean that no references exist. */
async function list<T>(
  api: KubeApi,
  { kind, paths: [path], isMetadataOnly }: Listable,
  parse: (object: ApiObject) => T,
  signal: AbortSignal,
  query: Readonly<Record<string, string>> = {},
) {
  const items: T[] = [];
  const addItem = (object: ApiObject): void => void items.push(parse(object));
  const { servedAt } = await accessCluster('list', path, signal, () =>
    listCollection(api, path, { kind, isMetadataOnly }, addItem, signal, { query }),
  );
  return { items, servedAt };
}

export function parseInspectedNode(node: ApiObject): InspectedNode {
  const { labels, annotations } = node.metadata ?? {};
  const readAnnotation = (key: string): string => {
    const value = annotations?.[`${MCO_GROUP}/${key}`];
    return typeof value === 'string' ? value : '';
  };
  return {
    referrer: NODES.parse(node),
    labels: labels ?? {},
    state: readAnnotation('state'),
    reason: readAnnotation('reason'),
    namedAt: findWriteTime(node, ['f:metadata', 'f:annotations', `f:${MCO_GROUP}/currentConfig`]),
  };
}

export function parseInspectedPool(pool: ApiObject): InspectedPool {
  const { annotations, creationTimestamp, uid, resourceVersion } = pool.metadata ?? {};
  const pausedFor = annotations?.[PAUSED_FOR_RESTORE];
  const { paused } = (pool.spec ?? {}) as { paused?: unknown };
  const status = (pool.status ?? {}) as Readonly<Record<string, unknown>>;
  return {
    referrer: POOLS.parse(pool),
    uid: String(uid),
    resourceVersion: String(resourceVersion),
    createdAt: parseTime(creationTimestamp),
    paused: paused === true,
    pausedSince: paused === true ? findWriteTime(pool, ['f:spec', 'f:paused']) : undefined,
    ...(typeof pausedFor === 'string' ? { pausedFor } : {}),
    machineCount: Number(status['machineCount']) || 0,
    updatedMachineCount: Number(status['updatedMachineCount']) || 0,
    degradedMachineCount: Number(status['degradedMachineCount']) || 0,
    conditions: parseConditions(status['conditions']),
    sources: listPoolSources(pool),
  };
}

function parseConditions(conditions: unknown): InspectedPool['conditions'] {
  const all = (Array.isArray(conditions) ? conditions : []) as readonly (Readonly<Record<string, unknown>> | null)[];
  const entries = all.flatMap((condition) => {
    const { type, status, message, reason, lastTransitionTime: time } = condition ?? {};
    const texts = [message, reason].filter((text) => typeof text === 'string' && text !== '') as string[];
    return status === 'True' ? [[type, { message: texts[0] ?? '', since: parseTime(time) }]] : [];
  });
  return Object.fromEntries(entries) as InspectedPool['conditions'];
}

function sortByName<T extends { readonly referrer: Referrer }>(objects: readonly T[]): T[] {
  return objects.toSorted((a, b) => (a.referrer.name < b.referrer.name ? -1 : 1));
}
