import type { Logger } from 'pino';
import { type ApiObject, isNumber, isOlderVersion, MalformedObject } from './api-object.ts';
import type { KubeApi } from './api.ts';
import { ApiError, ApiUnreachable, describeError, isNotFound, MalformedList, UnsupportedVersion } from './errors.ts';
import { listResource, type ListResult } from './lists/list.ts';
import { ProblemLog } from '../common/problem-log.ts';
import { Backoff, limitSignal, sleep, withTimeout } from '../common/wait.ts';
import { toListPath } from './api-paths.ts';
import { ACCEPT_METADATA, ACCEPT_METADATA_LIST } from './media-types.ts';
import type { Resource } from './resource.ts';
import { WATCHES } from './transport.ts';

export interface ReflectorTiming {
  /** The first and the longest pause after a failure. */
  readonly backoffMs: readonly [first: number, max: number];
  /** Between two lists of a kind that the cluster does not serve. */
  readonly absentMs: number;
  /** Between two checks for an etcd restore. */
  readonly probeMs: number;
  /** The reflector ends a watch that sends nothing for this long. */
  readonly silenceMs: number;
  readonly requestMs: number;
}

export const DEFAULT_TIMING: ReflectorTiming = {
  backoffMs: [250, 30_000],
  absentMs: 5_000,
  probeMs: 30_000,
  // The API server sends a bookmark about once a minute (kubernetes, apiserver/pkg/storage/cacher).
  silenceMs: 90_000,
  requestMs: 60_000,
};

export interface ReflectorOptions<Item extends { readonly name: string }> {
  readonly api: KubeApi;
  readonly resource: Resource<Item>;
  readonly log: Logger;
  readonly timing?: ReflectorTiming | undefined;
  /** `before` is undefined for a new object, `after` for a deleted one. A list reports all its objects. */
  readonly onChange?: (before: Item | undefined, after: Item | undefined, origin: 'list' | 'watch') => void;
}

/** An event of a pool or a build contains the whole object. */
const MAX_EVENT_LENGTH = 8 * 1024 * 1024;
/** Range of `timeoutSeconds`, as in client-go: random, so that replicas do not reconnect together. */
const WATCH_SECONDS = { min: 300, max: 600 } as const;

/** The guard itself can do nothing about them, unlike about a missing right or a broken connection. */
const CONTENT_ERRORS = [MalformedList, MalformedObject, UnsupportedVersion];

type Position = Pick<ListResult, 'path' | 'resourceVersion'>;

class RelistRequired extends Error {}

/**
 * Keeps the objects of one resource up to date by list and watch. It can be late, so it never proves that an object
 * does not exist. The informer of `@kubernetes/client-node` 2.0.1 would stop at the first 429, 5xx or reset connection,
 * keep whole objects, and end the process if a handler throws.
 */
export class Reflector<Item extends { readonly name: string }> {
  readonly resource: Resource<Item>;
  /** Undefined before the first list. It goes back only if a probe finds that the API server's versions went back. */
  newestVersion: string | undefined;
  readonly #api: KubeApi;
  readonly #log: Logger;
  readonly #timing: ReflectorTiming;
  readonly #onChange: NonNullable<ReflectorOptions<Item>['onChange']>;
  readonly #backoff: Backoff;
  readonly #problem: ProblemLog;
  #objects = new Map<string, Item>();
  #error: unknown;
  #position: Position | undefined;
  #lastMessageAt = Number.NaN;

  constructor({ api, resource, log, timing = DEFAULT_TIMING, onChange }: ReflectorOptions<Item>) {
    this.resource = resource;
    this.#api = api;
    this.#log = log.child({ resource: resource.name });
    this.#timing = timing;
    this.#onChange = onChange ?? (() => {});
    this.#backoff = new Backoff(...timing.backoffMs);
    this.#problem = new ProblemLog(this.#log, `watching ${resource.name} again`);
  }

  /** Whether a list has succeeded, or the cluster does not serve the kind. */
  get isSynced(): boolean {
    return !Number.isNaN(this.#lastMessageAt);
  }

  /** Whether the last list or watch failed because this user has no right to it. */
  get isForbidden(): boolean {
    return this.#error instanceof ApiError && this.#error.status === 403;
  }

  /** Why the objects of the cluster cannot be read. Undefined if they can, or if the next list may succeed. */
  get contentProblem(): string | undefined {
    const isContent = CONTENT_ERRORS.some((type) => this.#error instanceof type);
    return isContent ? `${this.resource.name}: ${describeError(this.#error)}` : undefined;
  }

  /** Milliseconds since the API server last sent an event or a bookmark; undefined before the first list. */
  get silentMs(): number | undefined {
    return this.isSynced ? performance.now() - this.#lastMessageAt : undefined;
  }

  get(name: string): Item | undefined {
    return this.#objects.get(name);
  }

  objects(): Iterable<Item> {
    return this.#objects.values();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#listAndWatch(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof RelistRequired) {
          this.#position = undefined;
          this.#log.info(`listing again: ${error.message}`);
        } else {
          this.#error = error;
          const reason = describeError(error);
          this.#problem.warn(`cannot watch ${this.resource.name}: ${reason}`, { reason });
        }
        await sleep(this.#backoff.next(), signal);
      }
    }
  }

  /** Lists only if there is no position. Returns when the watch ends. */
  async #listAndWatch(signal: AbortSignal): Promise<void> {
    // In a long outage the versions of a restored etcd can overtake the position, and the watch would miss changes.
    if (performance.now() - this.#lastMessageAt > this.#timing.silenceMs) this.#position = undefined;
    if (this.#position === undefined) {
      this.#position = await this.#list(signal);
      this.#lastMessageAt = performance.now();
      this.#clearProblem();
      if (this.#position === undefined) {
        await sleep(this.#timing.absentMs, signal);
        return;
      }
    } else {
      // The last watch ended, and an etcd restore can have followed.
      await this.#probe(this.#position, signal);
    }
    await this.#watch(this.#position, signal);
    // The server may end each watch immediately.
    await sleep(this.#backoff.next(), signal);
  }

  async #list(signal: AbortSignal): Promise<Position | undefined> {
    const objects = new Map<string, Item>();
    const add = (object: ApiObject): void => {
      const item = this.resource.parse(object);
      objects.set(item.name, item);
    };
    const result = await withTimeout(this.#timing.requestMs, signal, (limited) =>
      listResource(this.#api, this.resource, add, limited),
    );
    if (result !== undefined) await this.#checkListVersion(result, signal);
    const before = this.#objects;
    this.#objects = objects;
    for (const [name, item] of before) if (!objects.has(name)) this.#onChange(item, undefined, 'list');
    for (const [name, item] of objects) this.#onChange(before.get(name), item, 'list');
    return result;
  }

  /** After an etcd restore a list has an older version, and so has the probe. */
  async #checkListVersion({ path, resourceVersion }: Position, signal: AbortSignal): Promise<void> {
    const newest = this.newestVersion;
    if (newest !== undefined && isOlderVersion(resourceVersion, newest)) {
      await this.#probe({ path, resourceVersion: newest }, signal);
      throw new MalformedList(`the list has version ${resourceVersion}, which is older than ${newest}`);
    }
    this.newestVersion = resourceVersion;
  }

  async #watch(position: Position, signal: AbortSignal): Promise<void> {
    const { silenceMs } = this.#timing;
    const watch = limitSignal(silenceMs, signal, () => {
      return new ApiUnreachable(`the watch has been silent for ${silenceMs / 1_000} s`);
    });
    const probing = this.#probeRegularly(position, watch.signal).catch(watch.abort);
    try {
      const seconds = WATCH_SECONDS.min + (WATCH_SECONDS.max - WATCH_SECONDS.min) * Math.random();
      const { body } = await this.#api.request({
        path: toListPath(position.path, {
          watch: '1',
          allowWatchBookmarks: 'true',
          timeoutSeconds: String(Math.round(seconds)),
          resourceVersion: position.resourceVersion,
        }),
        accept: this.resource.isMetadataOnly ? ACCEPT_METADATA : undefined,
        purpose: WATCHES,
        signal: watch.signal,
      });
      this.#clearProblem();
      let rest = '';
      for await (const chunk of body.setEncoding('utf8') as AsyncIterable<string>) {
        watch.refresh();
        this.#lastMessageAt = performance.now();
        const lines = chunk.split('\n');
        lines[0] = rest + (lines[0] ?? '');
        rest = lines.pop() ?? '';
        if (rest.length > MAX_EVENT_LENGTH) throw new ApiUnreachable('a watch event is too large');
        for (const line of lines) if (line !== '') this.#applyEvent(line);
      }
    } catch (error) {
      if (watch.signal.aborted) throw watch.signal.reason;
      if (isNotFound(error)) throw new RelistRequired('the kind is no longer served');
      if (error instanceof ApiError && error.status === 410)
        throw new RelistRequired('the version to watch from is gone');
      throw error;
    } finally {
      watch.release();
      watch.abort(undefined);
      await probing;
    }
  }

  #clearProblem(): void {
    this.#error = undefined;
    this.#problem.clear();
  }

  #applyEvent(line: string): void {
    let event: { type?: unknown; object?: (ApiObject & { code?: unknown }) | null };
    try {
      event = JSON.parse(line) as typeof event;
    } catch {
      throw new RelistRequired('a watch event is not JSON');
    }
    const { type, object } = event;
    // The code is usually 410. After any error the events can have gaps.
    if (type === 'ERROR') throw new RelistRequired(`the watch reported an error (${String(object?.code)})`);
    const resourceVersion = object?.metadata?.resourceVersion;
    if (object === undefined || object === null || typeof resourceVersion !== 'string') {
      throw new RelistRequired('a watch event has no object');
    }
    if (type === 'ADDED' || type === 'MODIFIED') {
      const item = this.resource.parse(object);
      const before = this.#objects.get(item.name);
      this.#objects.set(item.name, item);
      this.#onChange(before, item, 'watch');
    } else if (type === 'DELETED') {
      const name = String(object.metadata?.name);
      const before = this.#objects.get(name);
      this.#objects.delete(name);
      if (before !== undefined) this.#onChange(before, undefined, 'watch');
    } else if (type !== 'BOOKMARK') {
      throw new RelistRequired(`a watch event has the unknown type ${String(type)}`);
    }
    this.#backoff.reset();
    // A version that goes back would disarm the check for stale lists.
    if (this.newestVersion !== undefined && isOlderVersion(resourceVersion, this.newestVersion)) return;
    if (this.#position !== undefined) this.#position = { ...this.#position, resourceVersion };
    this.newestVersion = resourceVersion;
  }

  async #probeRegularly(position: Position, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#timing.probeMs * (0.75 + 0.5 * Math.random()), signal);
      if (signal.aborted) return;
      await this.#probe(this.#position ?? position, signal);
      // The watch has lasted.
      this.#backoff.reset();
    }
  }

  /** Detects an etcd restore by the version of a list of one object. A watch from a future version stays silent. */
  async #probe(position: Position, signal: AbortSignal): Promise<void> {
    const path = toListPath(position.path, { limit: '1' });
    let list: { metadata?: { resourceVersion?: unknown } };
    try {
      const timeoutMs = this.#timing.requestMs;
      list = (await this.#api.json({ path, accept: ACCEPT_METADATA_LIST, timeoutMs, signal })) as typeof list;
    } catch (error) {
      if (isNotFound(error)) throw new RelistRequired('the kind is no longer served');
      throw error;
    }
    const version = String(list.metadata?.resourceVersion);
    if (!isOlderVersion(version, position.resourceVersion)) return;
    if (!isNumber(version)) throw new MalformedList('the list has no readable resourceVersion');
    this.newestVersion = version;
    throw new RelistRequired(`versions went back from ${position.resourceVersion} to ${version}`);
  }
}
