import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { formatMebibytes } from '../common/printable-text.ts';
import { type ApiObject, isNumber, isOlderVersion, MalformedObject } from './api-object.ts';
import { type ApiResponse, type KubeApi, type Purpose, WATCHES } from './api.ts';
import { ApiUnreachable, describeError, hasStatus, isNotFound, MalformedList, UnsupportedVersion } from './errors.ts';
import { listResource, toListPath } from './lists/list.ts';
import { ProblemLog } from '../common/problem-log.ts';
import { Backoff, limitSignal, measureAge, type Moment, readClocks, sleep, withTimeout } from '../common/wait.ts';
import { ACCEPT_METADATA, ACCEPT_METADATA_LIST } from './media-types.ts';
import type { Resource } from './resource.ts';

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
  /** `before` is undefined for a new object, `after` for a deleted one. An unchanged object is not reported. */
  readonly onChange?: (before: Item | undefined, after: Item | undefined, origin: 'list' | 'watch') => void;
}

/** A relist must not wait for hanging requests of others. Each reflector has a list or a probe, and seldom both. */
export const RELISTS: Purpose = { name: 'relists', maxConnections: 8 };
/** An event of a pool or a build contains the whole object. */
const MAX_EVENT_LENGTH = 8 * 1024 * 1024;
/** Range of `timeoutSeconds`, as in client-go: random, so that replicas do not reconnect together. */
const WATCH_SECONDS = { min: 300, max: 600 } as const;

/** The guard itself can do nothing about them, unlike about a missing right or a broken connection. */
const CONTENT_ERRORS = [MalformedList, MalformedObject, UnsupportedVersion];

/** Where the events of a watch begin. */
interface Position {
  /** Of the collection. */
  readonly path: string;
  readonly resourceVersion: string;
}

/**
 * What the reflector does. A list leads from each state to `watching`, or to `absent` if the cluster does not serve the
 * kind. A list that the guard cannot read leads to `unreadable`. An error of the connection changes no state.
 */
export type ReflectorState =
  | { readonly phase: 'listing' | 'absent' }
  /** It watches, or will again from this position. A {@link Doubt} leads to `listing`. */
  | { readonly phase: 'watching'; readonly position: Position; readonly isResumed: boolean }
  /** Its objects stay as they were before. It lists again and again. */
  | { readonly phase: 'unreadable'; readonly problem: string };

const LISTING: ReflectorState = { phase: 'listing' };

/** The objects may differ from those of the API server, such as after an event that is missing or cannot be read. */
class Doubt extends Error {}

/**
 * Keeps the objects of one resource up to date by list and watch. It can be late, so it never proves that an object
 * does not exist. The informer of `@kubernetes/client-node` 2.0.1 would stop at the first 429, 5xx or reset connection,
 * keep whole objects, and end the process if a handler throws.
 */
export class Reflector<Item extends { readonly name: string }> {
  readonly resource: Resource<Item>;
  /** By name. The same map at all times. */
  readonly objects: ReadonlyMap<string, Item>;
  state: ReflectorState = LISTING;
  /** Undefined before the first list. It goes back only if a probe finds that the API server's versions went back. */
  newestVersion: string | undefined;
  readonly #api: KubeApi;
  readonly #log: Logger;
  readonly #timing: ReflectorTiming;
  readonly #onChange: NonNullable<ReflectorOptions<Item>['onChange']>;
  readonly #backoff: Backoff;
  readonly #problem: ProblemLog;
  readonly #objects = new Map<string, Item>();
  #error: unknown;
  #lastMessageAt: Moment | undefined;

  constructor({ api, resource, log, timing = DEFAULT_TIMING, onChange }: ReflectorOptions<Item>) {
    this.resource = resource;
    this.objects = this.#objects;
    this.#api = api;
    this.#log = log.child({ resource: resource.name });
    this.#timing = timing;
    this.#onChange = onChange ?? (() => {});
    this.#backoff = new Backoff(...timing.backoffMs);
    this.#problem = new ProblemLog(this.#log, `watching ${resource.name} again`);
  }

  /** Whether a list has succeeded, or the cluster does not serve the kind. */
  get isSynced(): boolean {
    return this.#lastMessageAt !== undefined;
  }

  /** Whether the last list or watch failed because this user has no right to it. */
  get isForbidden(): boolean {
    return hasStatus(this.#error, 403);
  }

  /** Why the objects of the cluster cannot be read. Undefined if they can, or if the next list may succeed. */
  get contentProblem(): string | undefined {
    return this.state.phase === 'unreadable' ? this.state.problem : undefined;
  }

  /**
   * Milliseconds since the API server last sent a readable list, an event or a bookmark; undefined before the first
   * list.
   */
  get silentMs(): number | undefined {
    return this.#lastMessageAt && measureAge(this.#lastMessageAt);
  }

  /** Follows the resource until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#advance(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#handle(error);
        await sleep(this.#backoff.next(), signal);
      }
    }
  }

  async #advance(signal: AbortSignal): Promise<void> {
    const state = this.state;
    if (state.phase === 'absent') await sleep(this.#timing.absentMs, signal);
    if (state.phase !== 'watching') {
      this.state = await this.#list(signal);
      return;
    }
    if (state.isResumed) await this.#assertContinuous(state.position, signal);
    this.state = { ...state, isResumed: true };
    await this.#watch(state.position, signal);
    // The server may end each watch immediately.
    await sleep(this.#backoff.next(), signal);
  }

  #handle(error: unknown): void {
    const reason = describeError(error);
    if (error instanceof Doubt) {
      this.state = LISTING;
      this.#log.info(`listing again: ${reason}`);
      return;
    }
    this.#error = error;
    if (CONTENT_ERRORS.some((type) => error instanceof type)) {
      this.state = { phase: 'unreadable', problem: `${this.resource.name}: ${reason}` };
    }
    this.#problem.warn(`cannot watch ${this.resource.name}: ${reason}`, { reason });
  }

  #clearProblem(): void {
    this.#error = undefined;
    this.#problem.clear();
  }

  /** Returns the next state. @throws like `listResource`, MalformedList if the list is older than what was seen */
  async #list(signal: AbortSignal): Promise<ReflectorState> {
    const listed = new Map<string, Item>();
    const add = (object: ApiObject): void => {
      const item = this.resource.parse(object);
      listed.set(item.name, item);
    };
    const result = await withTimeout(this.#timing.requestMs, signal, (limited) =>
      listResource(this.#api, this.resource, add, limited, { purpose: RELISTS }),
    );
    if (result !== undefined) await this.#checkListVersion(result, signal);

    for (const name of this.#objects.keys()) if (!listed.has(name)) this.#set(name, undefined, 'list');
    for (const [name, item] of listed) this.#set(name, item, 'list');
    this.#lastMessageAt = readClocks();
    this.#clearProblem();
    if (result === undefined) return { phase: 'absent' };
    return { phase: 'watching', position: result, isResumed: false };
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

  /**
   * Called before the next watch. In a long outage, the versions of a restored etcd can overtake the position, and a
   * watch from there would miss changes. The probe can wait for the end of the outage, so the time counts after it.
   * @throws Doubt, or an error of the request
   */
  async #assertContinuous(position: Position, signal: AbortSignal): Promise<void> {
    await this.#probe(position, signal);
    const { silenceMs } = this.#timing;
    if ((this.silentMs ?? 0) > silenceMs) throw new Doubt(`nothing was received for ${silenceMs / 1_000} s`);
  }

  /** Returns when the API server ends the watch. @throws Doubt, or an error of the connection */
  async #watch(position: Position, signal: AbortSignal): Promise<void> {
    const { silenceMs } = this.#timing;
    const watch = limitSignal(silenceMs, signal, () => {
      return new ApiUnreachable(`the watch has been silent for ${silenceMs / 1_000} s`);
    });
    const probing = this.#probeRegularly(watch.signal).catch(watch.abort);
    try {
      const { body } = await this.#requestWatch(position, watch.signal);
      this.#clearProblem();
      let rest = '';
      for await (const chunk of body.setEncoding('utf8') as AsyncIterable<string>) {
        watch.refresh();
        this.#lastMessageAt = readClocks();
        const lines = chunk.split('\n');
        lines[0] = rest + (lines[0] ?? '');
        rest = lines.pop() ?? '';
        if (rest.length > MAX_EVENT_LENGTH)
          throw new Doubt(`a watch event is larger than ${formatMebibytes(MAX_EVENT_LENGTH)}`);
        for (const line of lines) if (line !== '') this.#applyEvent(position.path, line);
      }
    } catch (error) {
      throw watch.signal.aborted ? watch.signal.reason : error;
    } finally {
      watch.release();
      watch.abort(undefined);
      await probing;
    }
  }

  /** @throws Doubt if the position is of no use any more, or an error of the request */
  async #requestWatch({ path, resourceVersion }: Position, signal: AbortSignal): Promise<ApiResponse> {
    const seconds = WATCH_SECONDS.min + (WATCH_SECONDS.max - WATCH_SECONDS.min) * Math.random();
    const timeoutSeconds = String(Math.round(seconds));
    const query = { watch: '1', allowWatchBookmarks: 'true', timeoutSeconds, resourceVersion };
    const accept = this.resource.isMetadataOnly ? ACCEPT_METADATA : undefined;
    try {
      return await this.#api.request({ path: toListPath(path, query), accept, purpose: WATCHES, signal });
    } catch (error) {
      if (isNotFound(error)) throw new Doubt('the kind is no longer served');
      if (hasStatus(error, 410)) throw new Doubt('the version to watch from is gone');
      throw error;
    }
  }

  /** @throws Doubt unless it is an event that changes what the reflector knows */
  #applyEvent(path: string, line: string): void {
    const { type, object } = parseEvent(line);
    const resourceVersion = object.metadata?.resourceVersion;
    if (typeof resourceVersion !== 'string') throw new Doubt('the object of a watch event has no resourceVersion');
    if (type === 'DELETED') {
      this.#set(String(object.metadata?.name), undefined, 'watch');
    } else if (type !== 'BOOKMARK') {
      const item = this.#parse(object);
      this.#set(item.name, item, 'watch');
    }
    this.#backoff.reset();
    // A version that goes back would disarm the check for stale lists.
    if (this.newestVersion !== undefined && isOlderVersion(resourceVersion, this.newestVersion)) return;
    this.newestVersion = resourceVersion;
    this.state = { phase: 'watching', position: { path, resourceVersion }, isResumed: true };
  }

  /** A watch would deliver an unreadable object again and again. A list tells whether it is still there. */
  #parse(object: ApiObject): Item {
    try {
      return this.resource.parse(object);
    } catch (error) {
      throw new Doubt(`a watch event has an unreadable object: ${describeError(error)}`);
    }
  }

  #set(name: string, item: Item | undefined, origin: 'list' | 'watch'): void {
    const before = this.#objects.get(name);
    // Kubelets write their nodes every few minutes, without a change of what the reflector keeps.
    if (before !== undefined && isDeepStrictEqual(before, item)) return;
    if (item !== undefined) this.#objects.set(name, item);
    else if (!this.#objects.delete(name)) return;
    this.#onChange(before, item, origin);
  }

  /** @throws like {@link #probe} */
  async #probeRegularly(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#timing.probeMs * (0.75 + 0.5 * Math.random()), signal);
      if (signal.aborted || this.state.phase !== 'watching') return;
      await this.#probe(this.state.position, signal);
      // The watch has lasted.
      this.#backoff.reset();
    }
  }

  /**
   * Detects an etcd restore by the version of a list of one object. A watch from a future version stays silent.
   * @throws Doubt if versions went back, or an error of the request
   */
  async #probe(position: Position, signal: AbortSignal): Promise<void> {
    const path = toListPath(position.path, { limit: '1' });
    const timeoutMs = this.#timing.requestMs;
    let list: { metadata?: { resourceVersion?: unknown } };
    try {
      const request = { path, accept: ACCEPT_METADATA_LIST, purpose: RELISTS, timeoutMs, signal };
      list = (await this.#api.json(request)) as typeof list;
    } catch (error) {
      if (isNotFound(error)) throw new Doubt('the kind is no longer served');
      throw error;
    }
    const version = String(list.metadata?.resourceVersion);
    if (!isOlderVersion(version, position.resourceVersion)) return;
    if (!isNumber(version)) throw new Doubt('the list has no readable resourceVersion');
    this.newestVersion = version;
    throw new Doubt(`versions went back from ${position.resourceVersion} to ${version}`);
  }
}

interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: ApiObject;
}

const EVENT_TYPES: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK']);

/** @throws Doubt unless the line is an event with an object */
function parseEvent(line: string): WatchEvent {
  let event: { readonly type?: unknown; readonly object?: (ApiObject & { readonly code?: unknown }) | null };
  try {
    event = JSON.parse(line) as typeof event;
  } catch {
    throw new Doubt('a watch event is not JSON');
  }
  const { type, object } = event;
  // The code is usually 410. After any error the events can have gaps.
  if (type === 'ERROR') throw new Doubt(`the watch reported an error (${String(object?.code)})`);
  if (!EVENT_TYPES.has(type)) throw new Doubt(`a watch event has the unknown type ${String(type)}`);
  if (typeof object !== 'object' || object === null) throw new Doubt('a watch event has no object');
  return { type, object } as WatchEvent;
}
