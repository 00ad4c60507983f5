import type { Logger } from 'pino';
import type { ApiObject } from './api-object.ts';
import type { KubeApi } from './api.ts';
import { ApiError, ApiUnreachable, describeError, isNotFound } from './errors.ts';
import { LineSplitter } from './line-splitter.ts';
import { listResource, type ListResult } from './lists/list.ts';
import { ProblemLog } from './problem-log.ts';
import { acceptHeaderForList, acceptHeaderForObject, type Resource } from './resource.ts';
import { Backoff, sleep, withTimeout } from './wait.ts';

/** The times of a reflector, in milliseconds. */
export interface ReflectorTiming {
  /** The first and the longest pause after a failure. */
  readonly backoffMs: readonly [first: number, max: number];
  /** Pause between two lists of a kind that the cluster does not serve. */
  readonly absentMs: number;
  /** Pause between two checks that an etcd restore has not left the watch behind. */
  readonly probeMs: number;
  /** A watch that sends nothing for this long is dead. */
  readonly silenceMs: number;
  /** Timeout of a list or a probe. */
  readonly requestMs: number;
}

const DEFAULT_TIMING: ReflectorTiming = {
  backoffMs: [250, 30_000],
  absentMs: 5_000,
  probeMs: 30_000,
  // The API server sends a bookmark about once a minute (kubernetes, apiserver/pkg/storage/cacher).
  silenceMs: 90_000,
  requestMs: 60_000,
};

/** For single objects whose changes must take effect within two seconds, also right after an outage. */
export const SINGLE_OBJECT_TIMING: ReflectorTiming = { ...DEFAULT_TIMING, backoffMs: [250, 1_000], absentMs: 1_000 };

export interface ReflectorOptions<Item extends { readonly name: string }> {
  readonly api: KubeApi;
  readonly resource: Resource<Item>;
  readonly log: Logger;
  readonly timing?: ReflectorTiming | undefined;
  readonly random?: () => number;
  /** Called for each change. `before` is undefined for a new object, `after` for a deleted one. */
  readonly onChange?: (before: Item | undefined, after: Item | undefined) => void;
}

/** A whole pool or build. Nodes come as metadata and are far smaller. */
const MAX_EVENT_BYTES = 8 * 1024 * 1024;
/** A failure after a watch that lasted this long starts a new series of failures. */
const LASTING_WATCH_MS = 5_000;
/** How long the API server keeps a watch open. Random, so that replicas do not reconnect together; as in client-go. */
const WATCH_SECONDS = { min: 300, max: 600 } as const;

/** The watch cannot continue at its position. A new list is needed. */
class Expired extends Error {
  override readonly name = 'Expired';
}

/**
 * Keeps the objects of one resource up to date by list and watch. It can be late: it serves to find objects, and never
 * proves that one does not exist.
 *
 * Unlike the informer of the client library it survives refused and reset connections, 429 and 5xx, expired versions,
 * error events, silence, kinds that appear or disappear, an etcd restore and replaced tokens (docs/adr/0002).
 */
export class Reflector<Item extends { readonly name: string }> {
  readonly resource: Resource<Item>;
  readonly #api: KubeApi;
  readonly #log: Logger;
  readonly #timing: ReflectorTiming;
  readonly #random: () => number;
  readonly #onChange: (before: Item | undefined, after: Item | undefined) => void;
  readonly #backoff: Backoff;
  readonly #problem: ProblemLog;
  #objects = new Map<string, Item>();
  #isSynced = false;
  #isServed = false;
  #position: ListResult | undefined;
  #lastMessageAt = Number.NaN;

  constructor({ api, resource, log, timing = DEFAULT_TIMING, random = Math.random, onChange }: ReflectorOptions<Item>) {
    this.resource = resource;
    this.#api = api;
    this.#log = log.child({ resource: resource.name });
    this.#timing = timing;
    this.#random = random;
    this.#onChange = onChange ?? (() => {});
    this.#backoff = new Backoff(...timing.backoffMs, random);
    this.#problem = new ProblemLog(this.#log, `watching ${resource.name} again`);
  }

  /**
   * Whether there was one complete answer since the start: all objects, or that the cluster does not serve the kind.
   */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Whether the cluster served the kind when it was last listed. */
  get isServed(): boolean {
    return this.#isServed;
  }

  /** Milliseconds since the API server last sent an event or a bookmark; undefined before the first list. */
  get silentMs(): number | undefined {
    return this.#isSynced ? performance.now() - this.#lastMessageAt : undefined;
  }

  /** The objects as the list and the watch have delivered them. */
  objects(): Iterable<Item> {
    return this.#objects.values();
  }

  /** Lists and watches until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#follow(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Expired) {
          this.#position = undefined;
          this.#log.info(`listing again: ${error.message}`);
        } else {
          const reason = describeError(error);
          this.#problem.warn(`cannot watch ${this.resource.name}: ${reason}`, { reason });
        }
        await this.#pause(this.#backoff.next(), signal);
      }
    }
  }

  /** Lists if there is no position yet, then watches from there until the watch ends or fails. */
  async #follow(signal: AbortSignal): Promise<void> {
    if (this.#position === undefined) {
      this.#position = await this.#list(signal);
      this.#isSynced = true;
      this.#isServed = this.#position !== undefined;
      this.#lastMessageAt = performance.now();
      this.#problem.clear();
      if (this.#position === undefined) {
        await this.#pause(this.#timing.absentMs, signal);
        return;
      }
    } else {
      // The last watch ended. Before it continues: has etcd been restored to a state before its position?
      await this.#probe(this.#position, signal);
    }
    const startedAt = performance.now();
    const hasLasted = (): boolean => performance.now() - startedAt > LASTING_WATCH_MS;
    try {
      await this.#watch(this.#position, signal);
      // A server that ends each watch immediately must not be asked again immediately.
      if (!hasLasted()) await this.#pause(this.#backoff.next(), signal);
    } finally {
      if (hasLasted()) this.#backoff.reset();
    }
  }

  async #list(signal: AbortSignal): Promise<ListResult | undefined> {
    const objects = new Map<string, Item>();
    const add = (object: ApiObject): void => {
      const item = this.resource.parse(object);
      objects.set(item.name, item);
    };
    const result = await withTimeout(this.#timing.requestMs, signal, (limited) =>
      listResource(this.#api, this.resource, add, limited),
    );
    const before = this.#objects;
    this.#objects = objects;
    for (const [name, item] of before) if (!objects.has(name)) this.#onChange(item, undefined);
    for (const [name, item] of objects) this.#onChange(before.get(name), item);
    return result;
  }

  async #watch(position: ListResult, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const ended = new AbortController();
    const onAbort = (): void => {
      ended.abort(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const silence = setTimeout(() => {
      ended.abort(new ApiUnreachable(`the watch has been silent for ${this.#timing.silenceMs / 1000} s`));
    }, this.#timing.silenceMs);
    const probing = this.#probeRegularly(position, ended.signal).catch((error: unknown) => {
      ended.abort(error);
    });
    try {
      const seconds = WATCH_SECONDS.min + (WATCH_SECONDS.max - WATCH_SECONDS.min) * this.#random();
      const { body } = await this.#api.request({
        path: this.#path(position.path, {
          watch: '1',
          allowWatchBookmarks: 'true',
          timeoutSeconds: String(Math.round(seconds)),
          resourceVersion: position.resourceVersion,
        }),
        accept: acceptHeaderForObject(this.resource.isMetadataOnly),
        signal: ended.signal,
      });
      this.#problem.clear();
      const lines = new LineSplitter(MAX_EVENT_BYTES);
      for await (const chunk of body as AsyncIterable<Buffer>) {
        silence.refresh();
        this.#lastMessageAt = performance.now();
        for (const line of lines.push(chunk)) this.#applyEvent(line);
      }
    } catch (error) {
      if (ended.signal.aborted) throw ended.signal.reason;
      if (isNotFound(error)) throw new Expired('the kind is no longer served');
      if (error instanceof ApiError && error.status === 410) throw new Expired('the version to watch from is gone');
      throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
      clearTimeout(silence);
      ended.abort();
      await probing;
    }
  }

  #applyEvent(line: string): void {
    let event: { type?: unknown; object?: (ApiObject & { code?: unknown }) | null };
    try {
      event = JSON.parse(line) as typeof event;
    } catch {
      throw new Expired('a watch event is not JSON');
    }
    const { type, object } = event;
    // Usually 410. After any other error the following events can have gaps as well.
    if (type === 'ERROR') throw new Expired(`the watch reported an error (${String(object?.code)})`);
    const resourceVersion = object?.metadata?.resourceVersion;
    if (object === undefined || object === null || typeof resourceVersion !== 'string') {
      throw new Expired('a watch event has no object');
    }
    if (type === 'ADDED' || type === 'MODIFIED') {
      const item = this.resource.parse(object);
      const before = this.#objects.get(item.name);
      this.#objects.set(item.name, item);
      this.#onChange(before, item);
    } else if (type === 'DELETED') {
      const name = String(object.metadata?.name);
      const before = this.#objects.get(name);
      this.#objects.delete(name);
      if (before !== undefined) this.#onChange(before, undefined);
    } else if (type !== 'BOOKMARK') {
      throw new Expired(`a watch event has the unknown type ${String(type)}`);
    }
    if (this.#position !== undefined) this.#position = { ...this.#position, resourceVersion };
    this.#backoff.reset();
  }

  async #probeRegularly(position: ListResult, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#pause(this.#timing.probeMs * (0.75 + 0.5 * this.#random()), signal);
      if (!signal.aborted) await this.#probe(this.#position ?? position, signal);
    }
  }

  /**
   * After an etcd restore the versions go back, and a watch from a version of the future is accepted and stays silent.
   * A list of one object shows the current version. Versions compare as numbers, because etcd counts upwards.
   */
  async #probe(position: ListResult, signal: AbortSignal): Promise<void> {
    const path = this.#path(position.path, { limit: '1' });
    let list: { metadata?: { resourceVersion?: unknown } };
    try {
      list = (await withTimeout(this.#timing.requestMs, signal, (limited) =>
        this.#api.json({ path, accept: acceptHeaderForList(true), signal: limited }),
      )) as typeof list;
    } catch (error) {
      if (signal.aborted) return;
      if (isNotFound(error)) throw new Expired('the kind is no longer served');
      throw error;
    }
    const now = list.metadata?.resourceVersion;
    if (typeof now === 'string' && isOlderVersion(now, position.resourceVersion)) {
      throw new Expired(`versions went back from ${position.resourceVersion} to ${now}`);
    }
  }

  #path(collection: string, query: Readonly<Record<string, string>>): string {
    const { objectName } = this.resource;
    const selector = objectName === undefined ? {} : { fieldSelector: `metadata.name=${objectName}` };
    return `${collection}?${new URLSearchParams({ ...query, ...selector }).toString()}`;
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    await sleep(ms, signal).catch(() => {});
  }
}

/** False if a version is not a number: then nobody can tell. */
function isOlderVersion(a: string, b: string): boolean {
  return /^\d+$/.test(a) && /^\d+$/.test(b) && BigInt(a) < BigInt(b);
}
