import { configName, isRendered } from '../policy/config-name.ts';
import type { References, RenderedConfig } from '../policy/references.ts';
import type { ApiObject, Referrer } from '../policy/referrer.ts';
import { ApiError, type ClusterApi, reasonOf } from './api.ts';
import { listCollection, listSource, mayPass } from './list.ts';
import { POOLS, type Source, SOURCES } from './source.ts';
import { Backoff, orAborted, pause, within } from './wait.ts';

/** What pools hand their configs to. */
const OTHERS = SOURCES.filter((source) => source !== POOLS);

/** What a live reader needs. */
export interface LiveReaderOptions {
  readonly api: ClusterApi;
  /** Must the rendered configs themselves be read too, because a hold is set? Asked at the start of each read. */
  readonly needsRenderedConfigs?: () => boolean;
}

/**
 * How long a read may run before the next one starts beside it. A read normally takes milliseconds to tenths of a second;
 * one that hangs must not keep those who came after it from a fresh connection.
 */
const IMPATIENCE_MS = 1_000;
/** Bounds the memory and the load of reads that hang. */
const READS_AT_ONCE = 3;

/**
 * How long pools may keep the others waiting. They are few and their list takes milliseconds; where it hangs, a node that uses the
 * config should be found all the same.
 */
const HEAD_START_MS = 250;

const RENDERED_CONFIGS = '/apis/machineconfiguration.openshift.io/v1/machineconfigs';

/**
 * Reads every reference in the cluster afresh, and lets parallel reviews share the reading.
 *
 * Why nothing stale can slip through: a review joins only a read that has not begun. All its lists are therefore sent
 * after the review arrived, and a list without resourceVersion holds every write that was acknowledged before it was
 * sent. Reviews that arrive while a read runs share the next one, so that N parallel deletes cost two reads.
 */
export class LiveReader {
  readonly #api: ClusterApi;
  readonly #needsRenderedConfigs: () => boolean;
  readonly #running = new Set<Reading>();
  #next: Reading | undefined;
  #reads = 0;

  constructor({ api, needsRenderedConfigs }: LiveReaderOptions) {
    this.#api = api;
    this.#needsRenderedConfigs = needsRenderedConfigs ?? (() => false);
  }

  /** How many reads have begun. */
  get reads(): number {
    return this.#reads;
  }

  /**
   * Everything that names a config, read after this call. When the signal aborts, what has been read by then comes back,
   * and the rest is listed as unreadable. Never rejects.
   */
  async read(signal: AbortSignal): Promise<References> {
    const reading = this.#join();
    reading.waiting += 1;
    try {
      await orAborted(reading.ended, signal);
    } catch {
      // Out of time. The snapshot says what is missing.
    }
    const references = reading.snapshot();
    reading.waiting -= 1;
    if (reading.waiting === 0) this.#leave(reading);
    return references;
  }

  #join(): Reading {
    if (this.#next !== undefined) return this.#next;
    const next = new Reading(this.#api);
    this.#next = next;
    // Not at once: reviews that arrived in the same turn of the event loop share the read.
    setImmediate(() => {
      this.#begin(next);
    });
    return next;
  }

  /** Nobody waits for this read any more. One that has not begun is forgotten, so that nobody joins it later. */
  #leave(reading: Reading): void {
    if (reading === this.#next) this.#next = undefined;
    reading.abandon();
  }

  /** Begins the next read if none runs, or if those that run have taken too long and are not too many. */
  #begin(reading: Reading): void {
    if (reading !== this.#next) return;
    const youngest = Math.min(...[...this.#running].map((other) => other.ageMs));
    if (this.#running.size >= READS_AT_ONCE) return;
    if (this.#running.size > 0 && youngest < IMPATIENCE_MS) {
      setTimeout(() => {
        this.#begin(reading);
      }, IMPATIENCE_MS - youngest).unref();
      return;
    }
    this.#next = undefined;
    this.#running.add(reading);
    this.#reads += 1;
    reading.begin(this.#needsRenderedConfigs());
    void reading.ended.then(() => {
      this.#running.delete(reading);
      if (this.#next !== undefined) this.#begin(this.#next);
    });
  }
}

/**
 * One read of everything: a list a kind, each tried again until it succeeds, is refused, or nobody waits.
 *
 * Pools come first, because configs pass from them to nodes and builds: were nodes read before, a config could be handed to a node, leave
 * its pool, and be seen in neither, although something used it all the time.
 */
class Reading {
  readonly ended: Promise<void>;
  waiting = 0;
  readonly #api: ClusterApi;
  readonly #abandoned = new AbortController();
  readonly #pending = new Map<string, unknown>();
  readonly #referrers = new Map<string, readonly Referrer[]>();
  readonly #unreadable = new Map<string, string>();
  #renderedConfigs: RenderedConfig[] | undefined;
  #begunAt = Number.NaN;
  #end: () => void = () => {};

  constructor(api: ClusterApi) {
    this.#api = api;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#pending.set('references', undefined);
  }

  get ageMs(): number {
    return performance.now() - this.#begunAt;
  }

  begin(withRenderedConfigs: boolean): void {
    this.#begunAt = performance.now();
    this.#pending.clear();
    // Nothing counts as read before its turn.
    for (const { resource } of SOURCES) this.#pending.set(resource, undefined);
    const { signal } = this.#abandoned;
    const lists = [this.#readReferrers(signal), ...(withRenderedConfigs ? [this.#readRenderedConfigs(signal)] : [])];
    void Promise.all(lists).then(this.#end);
  }

  async #readReferrers(signal: AbortSignal): Promise<void> {
    const readOthers = async (): Promise<void> => {
      await Promise.all(OTHERS.map(async (source) => await this.#readSource(source, signal)));
    };
    const pools = this.#readSource(POOLS, signal);
    const inTime = await within(HEAD_START_MS, signal, async (limited) => await orAborted(pools, limited)).then(
      () => true,
      () => false,
    );
    await readOthers();
    if (inTime || signal.aborted) return;
    // That was only to find a use early. It is no proof of anything, because the pools were read after it.
    await pools;
    if (!signal.aborted) await readOthers();
  }

  async #readSource(source: Source, signal: AbortSignal): Promise<void> {
    await this.#untilRead(source.resource, async () => {
      const found: Referrer[] = [];
      await listSource(this.#api, source, (object) => found.push(source.read(object)), signal);
      this.#referrers.set(source.resource, found);
    });
  }

  /** Nobody waits any more: ends the requests, whose answers would only cost memory. */
  abandon(): void {
    this.#abandoned.abort();
  }

  snapshot(): References {
    const pending = [...this.#pending].map(([what, lastError]) => ({
      what,
      reason: lastError === undefined ? 'no complete answer in time' : reasonOf(lastError),
    }));
    return {
      referrers: [...this.#referrers.values()].flat(),
      unreadable: [...[...this.#unreadable].map(([what, reason]) => ({ what, reason })), ...pending],
      ...(this.#renderedConfigs === undefined ? {} : { renderedConfigs: this.#renderedConfigs }),
    };
  }

  async #untilRead(what: string, read: () => Promise<void>): Promise<void> {
    const { signal } = this.#abandoned;
    const backoff = new Backoff(100, 1_000);
    this.#pending.set(what, undefined);
    while (!signal.aborted) {
      try {
        await read();
        this.#pending.delete(what);
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (!mayPass(error)) {
          this.#pending.delete(what);
          this.#unreadable.set(what, reasonOf(error));
          return;
        }
        this.#pending.set(what, error);
        const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
        await pause(Math.max(asked, backoff.next()), signal).catch(() => {});
      }
    }
  }

  async #readRenderedConfigs(signal: AbortSignal): Promise<void> {
    await this.#untilRead('machineconfigs', async () => {
      const found: RenderedConfig[] = [];
      const keep = ({ metadata }: ApiObject): void => {
        const name = configName(String(metadata?.name));
        const createdAt = new Date(String(metadata?.creationTimestamp));
        if (isRendered(name) && !Number.isNaN(createdAt.getTime())) found.push({ name, createdAt });
      };
      await listCollection(this.#api, RENDERED_CONFIGS, { metadataOnly: true }, keep, signal);
      this.#renderedConfigs = found;
    });
  }
}
