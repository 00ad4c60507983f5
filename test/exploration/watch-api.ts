import { Readable } from 'node:stream';
import type { Change } from '../support/in-memory-cluster/in-memory-cluster.ts';
import type { ApiRequest, ApiResponse, KubeApi } from '../../src/kube/api.ts';
import { parseResource, type TwoConfigCluster } from './two-config-cluster.ts';

interface Watch {
  readonly body: Readable;
  /** Those that the index has not received. */
  readonly events: Change[];
}

/** The API servers for the index: one for each resource. Their watches lag until the scheduler delivers an event. */
export class WatchApi implements Pick<KubeApi, 'json' | 'now' | 'request'> {
  readonly #cluster: TwoConfigCluster;
  readonly #watches = new Map<string, Watch>();

  constructor(cluster: TwoConfigCluster) {
    this.#cluster = cluster;
    cluster.onChange((change) => this.#watches.get(change.resource)?.events.push(change));
  }

  /** The events that the index has not received. */
  get events(): readonly (readonly Change[])[] {
    return [...this.#watches.values()].map(({ events }) => events);
  }

  get next(): readonly Change[] {
    return this.events.flatMap((events) => events.slice(0, 1));
  }

  /** Sends the next event of this resource to the index. */
  deliver(resource: string): void {
    const { body, events } = this.#watches.get(resource) ?? {};
    body?.push(`${JSON.stringify(events?.shift())}\n`);
  }

  /** Sends the next event of this resource with an object whose fields cannot be read. */
  deliverMalformed(resource: string): void {
    const { body, events } = this.#watches.get(resource) ?? {};
    const { type, object } = events?.shift() ?? {};
    body?.push(`${JSON.stringify({ type, object: { ...object, spec: 'malformed' } })}\n`);
  }

  /** The next version to watch from is gone. So the index lists again, and misses the events in between. */
  breakOff(resource: string): void {
    const { body } = this.#watches.get(resource) ?? {};
    this.#watches.delete(resource);
    body?.push(`${JSON.stringify({ type: 'ERROR', object: { code: 410 } })}\n`);
  }

  /** Whether the index has not received an event. */
  isLate(resource: string): boolean {
    return (this.#watches.get(resource)?.events.length ?? 0) > 0;
  }

  isWatching(resource: string): boolean {
    return this.#watches.has(resource);
  }

  now(): Date {
    return new Date();
  }

  async json(request: ApiRequest): Promise<unknown> {
    return await this.#cluster.answer(request);
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    const body =
      request.purpose?.isWatch === true
        ? new Readable({ read: () => {} })
        : Readable.from([Buffer.from(JSON.stringify(await this.json(request)))]);
    request.signal.addEventListener('abort', () => body.destroy());
    if (request.purpose?.isWatch === true) this.#watches.set(parseResource(request), { body, events: [] });
    return { headers: {}, body: body as ApiResponse['body'] };
  }
}
