import type { ConfigName } from '../../decision/config-name.ts';
import { accessCluster } from '../../client/cluster-access.ts';
import { toPausePatch } from '../../client/paused-for-restore.ts';
import { MACHINE_CONFIGS_PATH, MCO_GROUP, objectPath, POOLS_PATH } from '../../kube/api-paths.ts';
import { type KubeApi, MERGE_PATCH } from '../../kube/api.ts';
import type { RenderedConfig } from '../../rendered-config/rendered-config.ts';
import type { RestorePool } from './restore-state.ts';

/** The annotations of a rendered config that the operator and `oc adm prune` read. */
const KEPT_ANNOTATIONS = ['generated-by-controller-version', 'release-image-version', 'os-image-url-overridden'].map(
  (key) => `${MCO_GROUP}/${key}`,
);

/** The writes of a restore. Each throws a ClusterAccessError or the signal's reason. */
export class RestoreWrites {
  readonly #api: KubeApi;
  readonly #isDryRun: boolean;

  constructor(api: KubeApi, isDryRun: boolean) {
    this.#api = api;
    this.#isDryRun = isDryRun;
  }

  /** @param pool the owner; undefined creates a config without an owner */
  async createConfig(config: RenderedConfig, pool: RestorePool | undefined, signal: AbortSignal): Promise<void> {
    const body = buildConfig(config, pool);
    // Strict, because the API server drops unknown fields otherwise, and the content would change.
    const path = this.#toPath(MACHINE_CONFIGS_PATH, { fieldValidation: 'Strict' });
    await accessCluster('create', path, signal, () => this.#api.json({ method: 'POST', path, body, signal }));
  }

  async pausePool(pool: RestorePool, config: ConfigName, signal: AbortSignal): Promise<void> {
    await this.#patchPool(pool, toPausePatch(config), signal);
  }

  async unpausePool(pool: RestorePool, signal: AbortSignal): Promise<void> {
    await this.#patchPool(pool, toPausePatch(null), signal);
  }

  async setPoolStatus(pool: RestorePool, config: ConfigName, signal: AbortSignal): Promise<void> {
    await this.#patchPool(pool, { status: { configuration: { name: config } } }, signal, '/status');
  }

  /** Fails with a conflict if the pool has changed, such as when a person has paused it. */
  async #patchPool(
    { referrer, resourceVersion }: RestorePool,
    patch: PoolPatch,
    signal: AbortSignal,
    subresource = '',
  ): Promise<void> {
    // Nothing is written in a dry run, so no change can be lost.
    const metadata = this.#isDryRun ? patch.metadata : { ...patch.metadata, resourceVersion };
    const path = this.#toPath(`${objectPath(POOLS_PATH, referrer.name)}${subresource}`);
    const body = { ...patch, metadata };
    const request = { method: 'PATCH', path, body, contentType: MERGE_PATCH, signal } as const;
    await accessCluster('patch', path, signal, () => this.#api.json(request));
  }

  #toPath(path: string, query: Readonly<Record<string, string>> = {}): string {
    const search = new URLSearchParams({ ...query, ...(this.#isDryRun ? { dryRun: 'All' } : {}) }).toString();
    return search === '' ? path : `${path}?${search}`;
  }
}

interface PoolPatch {
  readonly metadata?: object;
  readonly [field: string]: unknown;
}

/**
 * Builds the object as the operator does, from its content and the live pool: without labels, because a pool could
 * select it, and never with the owner in the file, because the garbage collector deletes objects of an unknown owner.
 */
function buildConfig({ name, apiVersion, annotations, spec }: RenderedConfig, pool?: RestorePool): object {
  const owner = pool && {
    apiVersion: `${MCO_GROUP}/v1`,
    kind: 'MachineConfigPool',
    name: pool.referrer.name,
    uid: pool.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  const kept = KEPT_ANNOTATIONS.filter((key) => annotations[key] !== undefined);
  const metadata = {
    name,
    annotations: Object.fromEntries(kept.map((key) => [key, annotations[key]])),
    ...(owner && { ownerReferences: [owner] }),
  };
  return { apiVersion, kind: 'MachineConfig', metadata, spec };
}
