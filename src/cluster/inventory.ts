import { type ConfigName, configName } from '../policy/config-name.ts';
import type { InspectedNode, InspectedPool, Snapshot } from '../policy/consistency.ts';
import type { RenderedConfig } from '../policy/references.ts';
import { type ApiObject, type Referrer, UnreadableObject } from '../policy/referrer.ts';
import { ApiError, type ClusterApi } from './api.ts';
import { listCollection, listSource } from './list.ts';
import { BUILDS, NODES, POOLS, type Source } from './source.ts';

/** What somebody did to a kind of object, in the API's own words. */
export interface Access {
  readonly verb: 'get' | 'list';
  readonly resource: string;
  /** Empty for the core group. */
  readonly group: string;
}

/** A kind could not be read. The cause is an ApiError, ApiUnreachable, BrokenList or UnreadableObject. */
export class ReadFailure extends Error {
  override readonly name = 'ReadFailure';
  readonly access: Access;

  constructor(access: Access, cause: unknown) {
    super(`cannot ${access.verb} ${access.resource}`, { cause });
    this.access = access;
  }
}

const MCO = 'machineconfiguration.openshift.io';

type Kind = Pick<Source, 'resource' | 'collections' | 'metadataOnly'>;

/** Of the configs themselves only names and ages are needed; a whole one may have 1.5 MB. */
const CONFIGS: Kind = {
  resource: 'machineconfigs',
  collections: [`/apis/${MCO}/v1/machineconfigs`],
  metadataOnly: true,
};

/**
 * Everything that `consistency` judges: the nodes that the label selector chooses (all without one), all pools, and after
 * them the names of all configs, in un-paged consistent lists.
 *
 * @throws ReadFailure, or the signal's reason
 */
export async function readSnapshot(
  api: ClusterApi,
  labelSelector: string | undefined,
  signal: AbortSignal,
): Promise<Snapshot> {
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
export async function readConfigs(api: ClusterApi, signal: AbortSignal): Promise<RenderedConfig[]> {
  const configs: RenderedConfig[] = [];
  await readAll(
    api,
    CONFIGS,
    ({ metadata }) => {
      const { name, creationTimestamp } = metadata ?? {};
      const createdAt = new Date(String(creationTimestamp));
      if (typeof name !== 'string' || Number.isNaN(createdAt.getTime())) {
        throw new UnreadableObject('a MachineConfig has no name or no creationTimestamp');
      }
      configs.push({ name: configName(name), createdAt });
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
export async function readReferrers(api: ClusterApi, signal: AbortSignal): Promise<Referrer[]> {
  const referrers: Referrer[] = [];
  await together(
    signal,
    [NODES, POOLS, BUILDS].map(
      (source) => (signal: AbortSignal) =>
        readAll(api, source, (object) => referrers.push(source.read(object)), signal),
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
export async function configSize(api: ClusterApi, name: ConfigName, signal: AbortSignal): Promise<number | undefined> {
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
  api: ClusterApi,
  kind: Kind,
  onObject: (object: ApiObject) => void,
  signal: AbortSignal,
  query = '',
): Promise<void> {
  try {
    // Nodes not as a source: their labels are needed, too.
    if (kind === BUILDS) await listSource(api, BUILDS, onObject, signal);
    else
      await listCollection(api, `${collectionOf(kind)}${query}`, { metadataOnly: kind.metadataOnly }, onObject, signal);
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

function failure(verb: Access['verb'], kind: Kind, error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  const group = /^\/apis\/(?<group>[^/]+)\//.exec(collectionOf(kind))?.groups?.['group'] ?? '';
  return new ReadFailure({ verb, resource: kind.resource, group }, error);
}

function collectionOf({ collections }: Kind): string {
  return collections[0] ?? '';
}

function inspectedNode(node: ApiObject): InspectedNode {
  const annotations = node.metadata?.annotations ?? {};
  const text = (key: string): string => {
    const value = annotations[`${MCO}/${key}`];
    return typeof value === 'string' ? value : '';
  };
  const labels = node.metadata?.labels ?? {};
  return { referrer: NODES.read(node), labels, state: text('state'), reason: text('reason') };
}

function inspectedPool(pool: ApiObject): InspectedPool {
  const spec = (pool.spec ?? {}) as { nodeSelector?: unknown; paused?: unknown };
  const status = (pool.status ?? {}) as { machineCount?: unknown; updatedMachineCount?: unknown };
  return {
    referrer: POOLS.read(pool),
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
