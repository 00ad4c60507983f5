import type { ApiObject } from '../../kube/api-object.ts';
import { objectPath } from '../../kube/api-paths.ts';
import { type ApiRequest, type KubeApi, MERGE_PATCH } from '../../kube/api.ts';

const REQUEST_TIMEOUT_MS = 10_000;

/** The objects of one kind that the operator watches. A write through the collection also changes its objects. */
export class WatchedCollection<T extends ApiObject> {
  readonly objects = new Map<string, T>();
  readonly #api: KubeApi;
  readonly #path: string;

  constructor(api: KubeApi, path: string) {
    this.#api = api;
    this.#path = path;
  }

  /** Reads the objects that other clients have changed. */
  async refresh(): Promise<void> {
    const { items } = (await this.#send({ path: this.#path })) as { readonly items: readonly T[] };
    this.objects.clear();
    for (const object of items) this.objects.set(nameOf(object), object);
  }

  async create(object: object): Promise<void> {
    await this.#write({ method: 'POST', path: this.#path, body: object });
  }

  /** The status has a path of its own. */
  async patch(name: string, { status, ...patch }: Readonly<Record<string, unknown>>): Promise<void> {
    const request = { method: 'PATCH', path: objectPath(this.#path, name), contentType: MERGE_PATCH } as const;
    if (Object.keys(patch).length > 0) await this.#write({ ...request, body: patch });
    if (status !== undefined) await this.#write({ ...request, path: `${request.path}/status`, body: { status } });
  }

  async #write(request: Omit<ApiRequest, 'signal'>): Promise<void> {
    const object = (await this.#send(request)) as T;
    this.objects.set(nameOf(object), object);
  }

  async #send(request: Omit<ApiRequest, 'signal'>): Promise<unknown> {
    return await this.#api.json({ ...request, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
  }
}

function nameOf({ metadata }: ApiObject): string {
  return String(metadata?.name);
}
