import { ApiError } from '../kube/errors.ts';
import { type ApiObject, MalformedObject } from '../kube/api-object.ts';
import type { Resource } from '../kube/resource.ts';
import { type ConfigName, toConfigName } from '../decision/config-name.ts';
import type { InspectedNode, InspectedPool, ClusterSnapshot } from './consistency.ts';
import type { ConfigMetadata, Referrer } from '../decision/references.ts';
import { type KubeApi } from '../kube/api.ts';
import { listCollection, listResource } from '../kube/lists/list.ts';
import { BUILDS, NODES, POOLS } from '../references/sources.ts';

/** What somebody did to a kind of object, in the API's own words. */
export interface AttemptedAccess {
  readonly verb: 'get' | 'list';
  readonly resource: string;
  /** Empty for the core group. */
  readonly group: string;
}

/** A kind could not be read. The cause is an ApiError, ApiUnreachable, BrokenList or UnreadableObject. */
export class ClusterReadError extends Error {
  override readonly name = 'ReadFailure';
  readonly access: AttemptedAccess;

  constructor(access: AttemptedAccess, cause: unknown) {
    super(`cannot ${access.verb} ${access.resource}`, { cause });
    this.access = access;
  }
}

const MCO = 'machineconfiguration.openshift.io';

type Kind = Pick<Resource<Referrer>, 'name' | 'paths' | 'isMetadataOnly'>;

/** Of the configs themselves only names and ages are needed; a whole one may have 1.5 MB. */
const CONFIGS: Kind = {
  name: 'machineconfigs',
  paths: [`/apis/${MCO}/v1/machineconfigs`],
  isMetadataOnly: true,
};

/**
 * Everything that `consistency` judges: the nodes that the label selector chooses (all without one), all pools, and after
 * them the names of all configs, in un-paged consistent lists.
 *
 * @throws ReadFailure, or the signal's reason
 */
export async function readClusterSnapshot(
  api: KubeApi,
  labelSelector: string | undefined,
  signal: AbortSignal,
): Promise<ClusterSnapshot> {
  const nodes: InspectedNode[] = [];
  const pools: InspectedPool[] = [];
  const query = labelSelector === undefined ? '' : `?labelSelector=${encodeURIComponent(labelSelector)}`;
  await together(signal, [
    (signal) => readAll(api, NODES, (node) => nodes.push(inspectedNode(node)), signal, query),
    (signal) => readAll(api, POOLS, (pool) => pools.push(inspectedPool(pool)), signal),
  ]);
  const configs = await readConfigs(api, signal);
  return { nodes: byName(nodes), pools: byName(pools), configs: new Set(configs.map(({ name }) => name)) };
}

/**
 * Names and ages of all MachineConfigs, source ones included: an annotation can name any.
 *
 * @throws ReadFailure, or the signal's reason
 */
export async function readConfigs(api: KubeApi, signal: AbortSignal): Promise<ConfigMetadata[]> {
  const configs: ConfigMetadata[] = [];
  await readAll(
    api,
    CONFIGS,
    ({ metadata }) => {
      const { name, creationTimestamp } = metadata ?? {};
      const createdAt = new Date(String(creationTimestamp));
      if (typeof name !== 'string' || Number.isNaN(createdAt.getTime())) {
        throw new MalformedObject('a MachineConfig has no name or no creationTimestamp');
      }
      configs.push({ name: toConfigName(name), createdAt });
    },
    signal,
  );
  return configs;
}

/**
 * Everything that names a config: nodes, pools, and builds where the cluster knows them.
 *
 * @throws ReadFailure, or the signal's reason
 */
export async function readReferrers(api: KubeApi, signal: AbortSignal): Promise<Referrer[]> {
  const referrers: Referrer[] = [];
  await together(
    signal,
    [NODES, POOLS, BUILDS].map(
      (source) => (signal: AbortSignal) =>
        readAll(api, source, (object) => referrers.push(source.parse(object)), signal),
    ),
  );
  return referrers;
}

/**
 * The size of a config in bytes of JSON, as the API server sends it. Its bytes are counted as they pass and never kept.
 *
 * @returns undefined where it is gone
 * @throws ReadFailure, or the signal's reason
 */
export async function readConfigSize(api: KubeApi, name: ConfigName, signal: AbortSignal): Promise<number | undefined> {
  try {
    const { body } = await api.request({ path: `${collectionOf(CONFIGS)}/${encodeURIComponent(name)}`, signal });
    let bytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) bytes += chunk.length;
    return bytes;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw failure('get', CONFIGS, error, signal);
  }
}

/** Pools and configs have to be served: without them there is nothing to judge, and "not served" is no "nothing uses it". */
async function readAll(
  api: KubeApi,
  kind: Kind,
  onObject: (object: ApiObject) => void,
  signal: AbortSignal,
  query = '',
): Promise<void> {
  try {
    // Nodes not as a source: their labels are needed, too.
    if (kind === BUILDS) await listResource(api, BUILDS, onObject, signal);
    else
      await listCollection(
        api,
        `${collectionOf(kind)}${query}`,
        { isMetadataOnly: kind.isMetadataOnly },
        onObject,
        signal,
      );
  } catch (error) {
    throw failure('list', kind, error, signal);
  }
}

/** All at once; the first failure ends the others, whose answers would be of no use. */
async function together(
  signal: AbortSignal,
  reads: readonly ((signal: AbortSignal) => Promise<void>)[],
): Promise<void> {
  signal.throwIfAborted();
  const failed = new AbortController();
  const onAbort = (): void => {
    failed.abort(signal.reason);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.all(reads.map((read) => read(failed.signal)));
  } catch (error) {
    failed.abort(error);
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function failure(verb: AttemptedAccess['verb'], kind: Kind, error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  const group = /^\/apis\/(?<group>[^/]+)\//.exec(collectionOf(kind))?.groups?.['group'] ?? '';
  return new ClusterReadError({ verb, resource: kind.name, group }, error);
}

function collectionOf({ paths }: Kind): string {
  return paths[0] ?? '';
}

function inspectedNode(node: ApiObject): InspectedNode {
  const annotations = node.metadata?.annotations ?? {};
  const text = (key: string): string => {
    const value = annotations[`${MCO}/${key}`];
    return typeof value === 'string' ? value : '';
  };
  const labels = node.metadata?.labels ?? {};
  return { referrer: NODES.parse(node), labels, state: text('state'), reason: text('reason') };
}

function inspectedPool(pool: ApiObject): InspectedPool {
  const spec = (pool.spec ?? {}) as { nodeSelector?: unknown; paused?: unknown };
  const status = (pool.status ?? {}) as { machineCount?: unknown; updatedMachineCount?: unknown };
  return {
    referrer: POOLS.parse(pool),
    nodeSelector: spec.nodeSelector,
    paused: spec.paused === true,
    machineCount: count(status.machineCount),
    updatedMachineCount: count(status.updatedMachineCount),
  };
}

function count(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

function byName<T extends { readonly referrer: Referrer }>(objects: readonly T[]): T[] {
  return objects.toSorted((a, b) => (a.referrer.name < b.referrer.name ? -1 : 1));
}
