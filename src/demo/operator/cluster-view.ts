import type { ApiObject } from '../../kube/api-object.ts';
import { MACHINE_CONFIGS_PATH, NODES_PATH, objectPath, POOLS_PATH } from '../../kube/api-paths.ts';
import { type ApiRequest, type KubeApi, MERGE_PATCH } from '../../kube/api.ts';
import type { MachineConfig } from './machine-config.ts';

const REQUEST_TIMEOUT_MS = 10_000;

/** The objects that the operator watches. A write through the view also changes the view. */
export class ClusterView {
  readonly nodes = new Map<string, ApiObject>();
  readonly pools = new Map<string, ApiObject>();
  readonly configs = new Map<string, MachineConfig>();
  readonly #api: KubeApi;

  constructor(api: KubeApi) {
    this.#api = api;
  }

  /** Reads the nodes and pools that other clients have changed. */
  async refresh(): Promise<void> {
    await this.#list(MACHINE_CONFIGS_PATH, this.configs);
    await this.#list(NODES_PATH, this.nodes);
    // Last: a pool is paused before its missing config is created.
    await this.#list(POOLS_PATH, this.pools);
  }

  async createNode(node: object): Promise<void> {
    await this.#write(this.nodes, { method: 'POST', path: NODES_PATH, body: node });
  }

  /** Metadata and status have different paths. */
  async patchNode(name: string, { status, ...patch }: { readonly status?: object }): Promise<void> {
    const path = objectPath(NODES_PATH, name);
    if (Object.keys(patch).length > 0) await this.#patch(this.nodes, path, patch);
    if (status !== undefined) await this.#patch(this.nodes, `${path}/status`, { status });
  }

  async createPool(pool: object): Promise<void> {
    await this.#write(this.pools, { method: 'POST', path: POOLS_PATH, body: pool });
  }

  async patchPool(name: string, patch: object): Promise<void> {
    await this.#patch(this.pools, objectPath(POOLS_PATH, name), patch);
  }

  async patchPoolStatus(name: string, status: object): Promise<void> {
    await this.#patch(this.pools, `${objectPath(POOLS_PATH, name)}/status`, { status });
  }

  async createConfig(config: MachineConfig): Promise<void> {
    await this.#write(this.configs, { method: 'POST', path: MACHINE_CONFIGS_PATH, body: config });
  }

  async #patch<T extends ApiObject>(objects: Map<string, T>, path: string, patch: object): Promise<void> {
    await this.#write(objects, { method: 'PATCH', path, body: patch, contentType: MERGE_PATCH });
  }

  async #write<T extends ApiObject>(
    objects: Map<string, T>,
    request: Omit<ApiRequest, 'signal'>,
  ): Promise<void> {
    const object = (await this.#send(request)) as T;
    objects.set(nameOf(object), object);
  }

  async #list<T extends ApiObject>(path: string, objects: Map<string, T>): Promise<void> {
    const { items } = (await this.#send({ path })) as { readonly items: readonly T[] };
    objects.clear();
    for (const object of items) objects.set(nameOf(object), object);
  }

  async #send(request: Omit<ApiRequest, 'signal'>): Promise<unknown> {
    return await this.#api.json({ ...request, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
  }
}

function nameOf({ metadata }: ApiObject): string {
  return String(metadata?.name);
}
