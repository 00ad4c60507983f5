import type { Logger } from 'pino';
import type { ApiObject } from './api-object.ts';
import type { Referrer } from '../decision/references.ts';
import { acceptHeaderForList, acceptHeaderForObject, type Resource } from './resource.ts';
import { ApiError, ApiUnreachable, type KubeApi, describeError } from './api.ts';
import { LineSplitter } from './line-splitter.ts';
import { isNotFound, listResource, type ListResult } from './lists/list.ts';
import { Backoff, sleep, withTimeout } from './wait.ts';

/** Waiting times of a reflector, in milliseconds. Tests shorten them. */
export interface ReflectorTiming {
  /** First and longest pause after a failure. */
  readonly backoffMs: readonly [first: number, max: number];
  /** How often to look for a kind that the cluster does not serve. */
  readonly absentMs: number;
  /** How often to check that the watch has not been left behind by a roll-back. */
  readonly probeMs: number;
  /** A watch that says nothing for this long is dead. */
  readonly silenceMs: number;
  /** A list or a probe that takes longer than this has failed. */
  readonly requestMs: number;
}

/** The timing in a cluster. */
const REFLECTOR_TIMING: ReflectorTiming = {
  backoffMs: [250, 30_000],
  absentMs: 5_000,
  probeMs: 30_000,
  // The API server sends a bookmark about once a minute, however quiet the kind is (kubernetes, apiserver/pkg/storage/cacher).
  silenceMs: 90_000,
  requestMs: 60_000,
};

/** What a reflector needs. */
export interface ReflectorOptions<Kept extends { readonly name: string } = Referrer> {
  readonly api: KubeApi;
  readonly source: Resource<Kept>;
  readonly log: Logger;
  readonly timing?: ReflectorTiming | undefined;
  readonly random?: () => number;
  /** Called with each object that is heard of: as it was known before, if it was, and as it is, unless it is gone. */
  readonly onChange?: (before: Kept | undefined, now: Kept | undefined) => void;
}

/** A whole pool or build in one watch event; nodes come as metadata and are far smaller. */
const EVENT_MAX = 8 * 1024 * 1024;

/** A watch that held this long was a good one, and what follows its end is a new failure. */
const LASTING_MS = 5_000;

/** How long the API server keeps one watch open, in seconds: spread, so that replicas do not come back together (client-go does the same). */
const WATCH_SECONDS: readonly [number, number] = [300, 600];

/** The watch cannot be continued from where it was: begin again with a list. */
class Expired extends Error {
  override readonly name = 'Expired';
}

/**
 * Keeps the objects of one kind (what matters of them) up to date by list and watch. What it knows may be late: it is good for finding a
 * referrer quickly, and never proof that there is none.
 *
 * It survives what the client library's informer does not: refused and reset connections, 429 and 5xx, expired versions,
 * error events, silence, a kind that appears or goes, a store that was restored from an older backup, a replaced token.
 */
export class Reflector<Kept extends { readonly name: string } = Referrer> {
  readonly source: Resource<Kept>;
  readonly #api: KubeApi;
  readonly #log: Logger;
  readonly #timing: ReflectorTiming;
  readonly #random: () => number;
  readonly #onChange: (before: Kept | undefined, now: Kept | undefined) => void;
  readonly #backoff: Backoff;
  #objects = new Map<string, Kept>();
  #listed = false;
  #position: ListResult | undefined;
  #complaint = '';
  #heardAt = Number.NaN;

  constructor({ api, source, log, timing = REFLECTOR_TIMING, random = Math.random, onChange }: ReflectorOptions<Kept>) {
    this.source = source;
    this.#api = api;
    this.#log = log.child({ resource: source.name });
    this.#timing = timing;
    this.#random = random;
    this.#onChange = onChange ?? (() => {});
    this.#backoff = new Backoff(...timing.backoffMs, random);
  }

  /** Has there been one complete answer since the start: all objects, or that the cluster does not serve the kind? */
  get isSynced(): boolean {
    return this.#listed;
  }

  /** Milliseconds since the API server last said anything about this kind, a bookmark included; undefined before the first list. */
  get silentMs(): number | undefined {
    return this.#listed ? performance.now() - this.#heardAt : undefined;
  }

  /** The objects as last heard. */
  objects(): Iterable<Kept> {
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
          this.#complain(error);
        }
        await this.#rest(this.#backoff.next(), signal);
      }
    }
  }

  /** One list where there is no position yet, then watches from there until something goes wrong. */
  async #follow(signal: AbortSignal): Promise<void> {
    if (this.#position === undefined) {
      this.#position = await this.#list(signal);
      this.#listed = true;
      this.#heardAt = performance.now();
      this.#recovered();
      if (this.#position === undefined) {
        await this.#rest(this.#timing.absentMs, signal);
        return;
      }
    } else {
      // A connection broke, or the watch ended. Before going on from where it was: is that position still behind us?
      await this.#probe(this.#position, signal);
    }
    const begunAt = performance.now();
    const lasted = (): boolean => performance.now() - begunAt > LASTING_MS;
    try {
      await this.#watch(this.#position, signal);
      // A server that ends each watch at once must not be asked again at once.
      if (!lasted()) await this.#rest(this.#backoff.next(), signal);
    } finally {
      if (lasted()) this.#backoff.reset();
    }
  }

  async #list(signal: AbortSignal): Promise<ListResult | undefined> {
    const objects = new Map<string, Kept>();
    const keep = (object: ApiObject): void => {
      const kept = this.source.parse(object);
      objects.set(kept.name, kept);
    };
    const listed = await withTimeout(
      this.#timing.requestMs,
      signal,
      async (limited) => await listResource(this.#api, this.source, keep, limited),
    );
    const before = this.#objects;
    this.#objects = objects;
    for (const [name, kept] of before) if (!objects.has(name)) this.#onChange(kept, undefined);
    for (const [name, kept] of objects) this.#onChange(before.get(name), kept);
    return listed;
  }

  async #watch(position: ListResult, signal: AbortSignal): Promise<void> {
    const ended = new AbortController();
    const either = ended.signal;
    const onAbort = (): void => {
      ended.abort(signal.reason);
    };
    signal.throwIfAborted();
    signal.addEventListener('abort', onAbort, { once: true });
    const silence = setTimeout(() => {
      ended.abort(new ApiUnreachable(`the watch has been silent for ${this.#timing.silenceMs / 1000} s`));
    }, this.#timing.silenceMs);
    const probing = this.#probeRegularly(position, either).catch((error: unknown) => {
      ended.abort(error);
    });
    try {
      const [min, max] = WATCH_SECONDS;
      const seconds = Math.round(min + (max - min) * this.#random());
      const { body } = await this.#api.request({
        path: `${position.collection}?watch=1&allowWatchBookmarks=true&timeoutSeconds=${seconds}&resourceVersion=${encodeURIComponent(position.resourceVersion)}`,
        accept: acceptHeaderForObject(this.source.isMetadataOnly),
        signal: either,
      });
      this.#recovered();
      const lines = new LineSplitter(EVENT_MAX);
      for await (const chunk of body as AsyncIterable<Buffer>) {
        silence.refresh();
        this.#heardAt = performance.now();
        for (const line of lines.push(chunk)) this.#apply(line);
      }
    } catch (error) {
      if (either.aborted) throw either.reason;
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

  #apply(line: string): void {
    let event: { type?: unknown; object?: (ApiObject & { code?: unknown; message?: unknown }) | null };
    try {
      event = JSON.parse(line) as typeof event;
    } catch {
      throw new Expired('a watch event is not JSON');
    }
    const { type, object } = event;
    if (type === 'ERROR') {
      // 410 is the usual one; after any other the events that follow may have gaps too.
      throw new Expired(`the watch reported an error (${String(object?.code)})`);
    }
    const version = object?.metadata?.resourceVersion;
    if (object === undefined || object === null || typeof version !== 'string') {
      throw new Expired('a watch event has no object');
    }
    if (type === 'ADDED' || type === 'MODIFIED') {
      const kept = this.source.parse(object);
      const before = this.#objects.get(kept.name);
      this.#objects.set(kept.name, kept);
      this.#onChange(before, kept);
    } else if (type === 'DELETED') {
      const name = String(object.metadata?.name);
      const gone = this.#objects.get(name);
      this.#objects.delete(name);
      if (gone !== undefined) this.#onChange(gone, undefined);
    } else if (type !== 'BOOKMARK') {
      throw new Expired(`a watch event has the unknown type ${String(type)}`);
    }
    if (this.#position !== undefined) this.#position = { ...this.#position, resourceVersion: version };
    this.#backoff.reset();
  }

  async #probeRegularly(position: ListResult, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#rest(this.#timing.probeMs * (0.75 + 0.5 * this.#random()), signal);
      if (!signal.aborted) await this.#probe(this.#position ?? position, signal);
    }
  }

  /**
   * After etcd was restored from a backup, versions go back, and a watch from a version of the future is accepted and
   * stays silent. A list of one object tells today's version; numbers compare because etcd counts upwards.
   */
  async #probe(position: ListResult, signal: AbortSignal): Promise<void> {
    const path = `${position.collection}?limit=1`;
    let list: { metadata?: { resourceVersion?: unknown } };
    try {
      list = (await withTimeout(
        this.#timing.requestMs,
        signal,
        async (limited) => await this.#api.json({ path, accept: acceptHeaderForList(true), signal: limited }),
      )) as typeof list;
    } catch (error) {
      if (signal.aborted) return;
      if (isNotFound(error)) throw new Expired('the kind is no longer served');
      throw error;
    }
    const now = list.metadata?.resourceVersion;
    if (typeof now === 'string' && isBefore(now, position.resourceVersion)) {
      throw new Expired(`versions went back from ${position.resourceVersion} to ${now}`);
    }
  }

  async #rest(ms: number, signal: AbortSignal): Promise<void> {
    await sleep(ms, signal).catch(() => {});
  }

  /** Says what is wrong, once for as long as it stays the same. */
  #complain(error: unknown): void {
    const complaint = describeError(error);
    if (complaint === this.#complaint) return;
    this.#complaint = complaint;
    this.#log.warn({ reason: complaint }, `cannot follow ${this.source.name}: ${complaint}`);
  }

  #recovered(): void {
    if (this.#complaint === '') return;
    this.#complaint = '';
    this.#log.info(`following ${this.source.name} again`);
  }
}

/** Is version `a` older than `b`? Where they are no numbers, nobody can tell, and the answer is no. */
function isBefore(a: string, b: string): boolean {
  return /^\d+$/.test(a) && /^\d+$/.test(b) && BigInt(a) < BigInt(b);
}
