import { parse } from 'yaml';
import { groupBy } from '../common/group-by.ts';
import {
  type ClusterSnapshot,
  type ControlPlaneSize,
  type InspectedNode,
  listReferrers,
} from '../diagnosis/cluster-snapshot.ts';
import type { ApiObject } from '../kube/api-object.ts';
import type { KubeApi } from '../kube/api.ts';
import { listCollection, listResource } from '../kube/lists/list.ts';
import { accessCluster, isRetryableRead, orForbidden, readObject } from './cluster-access.ts';
import {
  parseInspectedBuild,
  parseInspectedNode,
  parseInspectedOsConfig,
  parseInspectedPool,
} from './inspected-objects.ts';
import type { Resource } from '../kube/resource.ts';
import { MCO_GROUP } from '../mco/api-paths.ts';
import { isRenderedConfig, type WatchedConfig } from '../mco/machine-config.ts';
import { isManagedByOperator } from '../mco/pool-of-node.ts';
import type { Referrer } from '../mco/referrer.ts';
import { BUILDS, MACHINE_CONFIGS, NODES, POOLS } from '../mco/resources.ts';

// All read functions throw a ClusterAccessError, or the signal's reason.

/** Two thirds of a node are its images and addresses. */
const NODE_PARTS = { metadata: 'whole', spec: { unschedulable: true }, status: { conditions: 'whole' } } as const;
const NODES_WITH_STATUS = { ...NODES, isMetadataOnly: false, wanted: NODE_PARTS };
/** They are read one after another. Beyond it, one list of all nodes is faster. */
const MAX_SINGLE_NODES = 20;
/** v1 from OpenShift 4.18 on, v1alpha1 as a preview in 4.16 and 4.17. Earlier releases serve none. */
const OS_CONFIGS = {
  kind: 'MachineOSConfig',
  name: 'machineosconfigs',
  paths: [`/apis/${MCO_GROUP}/v1/machineosconfigs`, `/apis/${MCO_GROUP}/v1alpha1/machineosconfigs`],
} as const;

/** What was read before, and the names of the nodes that are in doubt. */
export interface EarlierSnapshot {
  readonly snapshot: Pick<ClusterSnapshot, 'nodes' | 'skippedNodes' | 'configs'>;
  readonly doubtful: ReadonlySet<string>;
}

/**
 * Reads what a diagnosis needs: one list of each kind.
 *
 * Lists the configs last, so that a missing config did not exist after the references were read.
 * @param labelSelector of the nodes. Undefined selects all
 * @param earlier its other nodes are not read again, and what existed for them counts as existing
 */
export async function readClusterSnapshot(
  api: KubeApi,
  labelSelector: string | undefined,
  signal: AbortSignal,
  earlier?: EarlierSnapshot,
) {
  const query = labelSelector === undefined ? {} : { labelSelector };
  const known = earlier !== undefined && earlier.doubtful.size <= MAX_SINGLE_NODES ? earlier : undefined;
  const isCertain = ({ name }: InspectedNode): boolean => known?.doubtful.has(name) === false;
  const allNodes =
    known === undefined
      ? await listAll(api, NODES_WITH_STATUS, parseInspectedNode, signal, query)
      : [...known.snapshot.nodes.filter(isCertain), ...(await listByName(api, [...known.doubtful], signal, query))];
  const { nodes, skippedNodes, ...cluster } = await readPools(api, signal, allNodes);
  const imageMode = await readImageMode(api, signal);
  const all = await listAll(
    api,
    MACHINE_CONFIGS,
    (config) => ({ ...MACHINE_CONFIGS.parse(config), labels: config.metadata?.labels ?? {} }),
    signal,
  );
  const findNames = (isWanted: (config: WatchedConfig) => boolean) => all.filter(isWanted).map(({ name }) => name);
  const terminatingConfigs = new Set(findNames(({ isTerminating }) => isTerminating));
  const existing = [...findNames(({ isTerminating }) => !isTerminating), ...(known?.snapshot.configs ?? [])];
  // A hosted cluster (HyperShift) serves the kinds, and has no objects. A cluster that has lost them has their names.
  const isHosted =
    cluster.pools.length + all.length === 0 &&
    !nodes.some(({ references }) => references.some(({ config }) => isRenderedConfig(config)));
  const hosted = isHosted ? nodes.map(({ name }) => name) : [];
  return {
    ...cluster,
    ...imageMode,
    nodes: isHosted ? [] : nodes,
    skippedNodes: [...(known?.snapshot.skippedNodes ?? []), ...skippedNodes, ...hosted],
    configs: new Set(existing.filter((name) => !terminatingConfigs.has(name))),
    terminatingConfigs,
    createdAt: new Map(all.map((config) => [config.name, config.createdAt])),
    overriddenConfigs: findNames(({ isOverridden }) => isOverridden),
    sources: all.filter(({ name, isTerminating }) => !isRenderedConfig(name) && !isTerminating),
  };
}

/** Image mode is optional, so a missing right only narrows the diagnosis. */
async function readImageMode(api: KubeApi, signal: AbortSignal) {
  const builds = await orForbidden(listServed(api, BUILDS, parseInspectedBuild, signal));
  const osConfigs = await orForbidden(listServed(api, OS_CONFIGS, parseInspectedOsConfig, signal));
  return {
    ...(builds && { builds }),
    ...(osConfigs && { osConfigs }),
    unreadable: [builds ? [] : [BUILDS.name], osConfigs ? [] : [OS_CONFIGS.name]].flat(),
  };
}

/** @returns also the nodes that the operator manages, and the names of the others */
async function readPools(api: KubeApi, signal: AbortSignal, allNodes: readonly InspectedNode[]) {
  const pools = sortByName(await listAll(api, POOLS, parseInspectedPool, signal));
  const managed = groupBy(sortByName(allNodes), (node) => isManagedByOperator(node, pools));
  const skippedNodes = (managed.get(false) ?? []).map(({ name }) => name);
  return { nodes: managed.get(true) ?? [], skippedNodes, pools };
}

async function listByName(
  api: KubeApi,
  names: readonly string[],
  signal: AbortSignal,
  query: Readonly<Record<string, string>>,
): Promise<readonly InspectedNode[]> {
  const nodes: InspectedNode[] = [];
  for (const name of names) {
    const own = { ...query, fieldSelector: `metadata.name=${name}` };
    nodes.push(...(await listAll(api, NODES_WITH_STATUS, parseInspectedNode, signal, own)));
  }
  return nodes;
}

export async function readConfigs(api: KubeApi, signal: AbortSignal): Promise<WatchedConfig[]> {
  return await listAll(api, MACHINE_CONFIGS, MACHINE_CONFIGS.parse, signal);
}

/**
 * Reads everything that can name a config, for `who-uses`. Of the nodes, only their metadata.
 * @returns also the time of the first list by the clock of the API server
 */
export async function readReferrers(api: KubeApi, signal: AbortSignal) {
  const { items, servedAt: at } = await list(api, NODES, parseInspectedNode, signal);
  const cluster = await readPools(api, signal, items);
  const builds = await listServed(api, BUILDS, parseInspectedBuild, signal);
  return { ...cluster, builds, at, referrers: listReferrers({ ...cluster, builds }) };
}

/** The installer stores its configuration here, and the etcd operator reads the same field. */
const INSTALL_CONFIG_PATH = '/api/v1/namespaces/kube-system/configmaps/cluster-config-v1';

interface StoredConfigMap {
  readonly data?: Readonly<Record<string, string>>;
}

/** Undefined if the cluster does not say it, or denies access. */
export async function readControlPlaneSize(api: KubeApi, signal: AbortSignal): Promise<ControlPlaneSize | undefined> {
  try {
    const configMap = await readObject<StoredConfigMap>(api, INSTALL_CONFIG_PATH, 'get', signal);
    const installConfig = parse(configMap?.data?.['install-config'] ?? '') as Readonly<
      Record<string, { replicas?: unknown }>
    >;
    const masters = installConfig['controlPlane']?.replicas;
    const arbiters = installConfig['arbiter']?.replicas;
    if (typeof masters !== 'number') return undefined;
    return { masters, arbiters: typeof arbiters === 'number' ? arbiters : 0 };
  } catch (error) {
    if (signal.aborted || isRetryableRead(error)) throw error;
    return undefined;
  }
}

type Listable = Pick<
  Resource<{ readonly name: string }>,
  'kind' | 'paths' | 'isMetadataOnly' | 'isNamespaced' | 'wanted'
>;

export async function listAll<T>(...args: Parameters<typeof list<T>>): Promise<T[]> {
  return (await list(...args)).items;
}

/** A 404 is an error: a missing CRD does not mean that no references exist. */
async function list<T>(
  api: KubeApi,
  { paths: [path], ...resource }: Listable,
  parse: (object: ApiObject) => T,
  signal: AbortSignal,
  query: Readonly<Record<string, string>> = {},
) {
  const items: T[] = [];
  const addItem = (object: ApiObject): void => void items.push(parse(object));
  const { servedAt } = await accessCluster('list', path, signal, () =>
    listCollection(api, path, resource, addItem, signal, { query }),
  );
  return { items, servedAt };
}

/** Lists a kind that not every release serves: then it has no objects. */
export async function listServed<T>(
  api: KubeApi,
  resource: Omit<Resource<{ readonly name: string }>, 'parse'>,
  parse: (object: ApiObject) => T,
  signal: AbortSignal,
): Promise<T[]> {
  const items: T[] = [];
  const addItem = (object: ApiObject): void => void items.push(parse(object));
  await accessCluster('list', resource.paths[0], signal, () => listResource(api, resource, addItem, signal));
  return items;
}

function sortByName<T extends Referrer>(objects: readonly T[]): T[] {
  return objects.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
