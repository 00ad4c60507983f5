import { type ConfigName, isObjectName, type Referrer } from '../decision/references.ts';
import type { ApiObject } from '../kube/api-object.ts';
import { MACHINE_CONFIGS_PATH, MCO_GROUP, objectPath, PAUSED_FOR_RESTORE } from '../kube/api-paths.ts';
import { type KubeApi, readText } from '../kube/api.ts';
import { orUndefined } from '../kube/errors.ts';
import { listCollection, listResource } from '../kube/lists/list.ts';
import type { Resource } from '../kube/resource.ts';
import { isManagedByOperator } from '../references/node-pool.ts';
import { BUILDS, MACHINE_CONFIGS, NODES, POOLS, type WatchedConfig } from '../references/sources.ts';
import { listPoolSources } from '../rendered-config/rendered-config.ts';
import { accessCluster } from './cluster-access.ts';
import type { ClusterSnapshot, InspectedNode, InspectedPool } from './cluster-snapshot.ts';

const ROLE_LABEL_PREFIX = 'node-role.kubernetes.io/';

// All read functions throw a ClusterAccessError, or the signal's reason.

/** Lists the configs last, see {@link ClusterSnapshot}. */
export async function readClusterSnapshot(
  api: KubeApi,
  labelSelector: string | undefined,
  signal: AbortSignal,
): Promise<ClusterSnapshot> {
  const query = labelSelector === undefined ? {} : { labelSelector };
  const allNodes = await listAll(api, NODES, parseInspectedNode, signal, query);
  const pools = await listAll(api, POOLS, parseInspectedPool, signal);
  const configs = await readConfigNames(api, signal);
  const roles = allNodes.length === 0 && labelSelector !== undefined ? await readRoles(api, signal) : [];
  const nodes = filterManaged(allNodes, pools);
  const managed = new Set(nodes);
  const skippedNodes = allNodes.filter((node) => !managed.has(node));
  return {
    nodes: sortByName(nodes),
    skippedNodes: sortByName(skippedNodes).map(({ referrer }) => referrer.name),
    pools: sortByName(pools),
    ...configs,
    roles,
  };
}

export function filterManaged(nodes: readonly InspectedNode[], pools: readonly InspectedPool[]) {
  const poolReferrers = pools.map(({ referrer }) => referrer);
  return nodes.filter(({ referrer }) => isManagedByOperator(referrer, poolReferrers));
}

/** The names of all configs, apart for those that are being deleted. */
export async function readConfigNames(
  api: KubeApi,
  signal: AbortSignal,
): Promise<Pick<ClusterSnapshot, 'configs' | 'terminatingConfigs'>> {
  const all = await readConfigs(api, signal);
  const findNames = (areTerminating: boolean) =>
    new Set(all.filter((config) => config.isTerminating === areTerminating).map(({ name }) => name));
  return { configs: findNames(false), terminatingConfigs: findNames(true) };
}

/** The roles of all nodes. */
async function readRoles(api: KubeApi, signal: AbortSignal): Promise<string[]> {
  const labels = await listAll(api, NODES, ({ metadata }) => Object.keys(metadata?.labels ?? {}), signal);
  const roles = labels.flat().filter((label) => label.startsWith(ROLE_LABEL_PREFIX));
  return [...new Set(roles.map((label) => label.slice(ROLE_LABEL_PREFIX.length)))].sort();
}

export async function readConfigs(api: KubeApi, signal: AbortSignal): Promise<WatchedConfig[]> {
  return await listAll(api, MACHINE_CONFIGS, MACHINE_CONFIGS.parse, signal);
}

/** The configs that a node or a pool needs. */
export async function readReferencedNames(api: KubeApi, signal: AbortSignal): Promise<ReadonlySet<ConfigName>> {
  const nodes = await listAll(api, NODES, NODES.parse, signal);
  const pools = await listAll(api, POOLS, POOLS.parse, signal);
  const references = [...nodes, ...pools].flatMap((referrer) => referrer.references);
  return new Set(references.filter(({ strength }) => strength === 'strong').map(({ config }) => config));
}

/**
 * The configs that a node or a pool names, and that do not exist. An annotation can contain any text, so other
 * texts than names of objects are left out.
 */
export async function readMissingNames(api: KubeApi, signal: AbortSignal): Promise<ConfigName[]> {
  const referenced = await readReferencedNames(api, signal);
  const existing = new Set((await readConfigs(api, signal)).map(({ name }) => name));
  return [...referenced].filter((config) => isObjectName(config) && !existing.has(config));
}

/** @returns also the time of the first list by the clock of the API server */
export async function readReferrers(api: KubeApi, signal: AbortSignal) {
  const { items: nodes, servedAt: at } = await list(api, NODES, NODES.parse, signal);
  const pools = await listAll(api, POOLS, POOLS.parse, signal);
  const referrers: Referrer[] = [...nodes.filter((node) => isManagedByOperator(node, pools)), ...pools];
  const addBuild = (build: ApiObject): void => void referrers.push(BUILDS.parse(build));
  await accessCluster('list', BUILDS.paths[0], signal, () => listResource(api, BUILDS, addBuild, signal));
  return { referrers, at };
}

/** The bytes of a config's JSON. Undefined if it does not exist. */
export async function readConfigSize(api: KubeApi, name: ConfigName, signal: AbortSignal): Promise<number | undefined> {
  const path = objectPath(MACHINE_CONFIGS_PATH, name);
  return await accessCluster('get', path, signal, async () => {
    const response = await orUndefined(api.request({ path, signal }));
    return response === undefined ? undefined : Buffer.byteLength(await readText(response, signal));
  });
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
    listCollection(api, path, { kind, isMetadataOnly }, addItem, signal, query),
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
  };
}

export function parseInspectedPool(pool: ApiObject): InspectedPool {
  const pausedFor = pool.metadata?.annotations?.[PAUSED_FOR_RESTORE];
  const spec = (pool.spec ?? {}) as { paused?: unknown };
  const status = (pool.status ?? {}) as { machineCount?: unknown; updatedMachineCount?: unknown };
  return {
    referrer: POOLS.parse(pool),
    paused: spec.paused === true,
    ...(typeof pausedFor === 'string' ? { pausedFor } : {}),
    machineCount: toCount(status.machineCount),
    updatedMachineCount: toCount(status.updatedMachineCount),
    sources: listPoolSources(pool),
  };
}

function toCount(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

export function sortByName<T extends { readonly referrer: Referrer }>(objects: readonly T[]): T[] {
  return objects.toSorted((a, b) => (a.referrer.name < b.referrer.name ? -1 : 1));
}
