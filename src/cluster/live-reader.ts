import { configName, isRendered } from '../policy/config-name.ts';
import type { References, RenderedConfig } from '../policy/references.ts';
import type { ApiObject, Referrer } from '../policy/referrer.ts';
import { ApiError, type ClusterApi, reasonOf } from './api.ts';
import { listCollection, listSource, mayPass } from './list.ts';
import { BUILDS, NODES, POOLS, type Source, SOURCES } from './source.ts';
import { Backoff, orAborted, pause, within } from './wait.ts';

/** Few objects that change seldom, between which and the nodes configs are handed on. */
const HOLDERS: readonly Source[] = [POOLS, BUILDS];
/** What is not known yet where every list has been read, and not yet confirmed that they belong together. */
const ALL = 'references';

/** What a live reader needs. */
export interface LiveReaderOptions {
  readonly api: ClusterApi;
  /** Must the rendered configs themselves be read too, because a hold is set? Asked at the start of each read. */
  readonly needsRenderedConfigs?: () => boolean;
}

/**
 * How long a read may be silent before the next one starts beside it: one that hangs must not keep those who came after it from a
 * fresh connection. One that is only slow, because the API server is busy, goes on alone: another beside it would make both slower.
 */
const IMPATIENCE_MS = 1_000;
/** Having begun again this often, a read is without end because of what is read, not because of who answers. */
const RESTLESS = 2;
/** Bounds the memory and the load of reads that hang. */
const READS_AT_ONCE = 3;

/**
 * How long pools and builds may keep nodes waiting. They are few and their lists take milliseconds; where one hangs, a node that
 * uses the config should be found all the same.
 */
const HEAD_START_MS = 250;

/**
 * So many that wait for the same read are a prune in parallel, of which more are on their way: it waits for as long as they keep coming,
 * within bounds, because another read would keep the API server from letting them come. Fewer never wait. A review has 4 seconds: after the
 * longest wait there is still time for a slow read.
 */
const CROWD = 10;
const CROWD_QUIET_MS = 50;
const CROWD_WAITS_MS = 1_500;

const RENDERED_CONFIGS = '/apis/machineconfiguration.openshift.io/v1/machineconfigs';

/**
 * Reads every reference in the cluster afresh, and lets parallel reviews share the reading.
 *
 * Why nothing stale can slip through: a review joins only a read that has not begun. All its lists are therefore sent
 * after the review arrived, and a list without resourceVersion holds every write that was acknowledged before it was
 * sent. Reviews that arrive while a read runs share the next one, so that N parallel deletes cost two reads, and one more for each
 * second and a half that they take to arrive.
 */
export class LiveReader {
  readonly #api: ClusterApi;
  readonly #needsRenderedConfigs: () => boolean;
  readonly #running = new Set<Reading>();
  #next: Reading | undefined;
  /** When the next one is looked at again. */
  #later: NodeJS.Timeout | undefined;
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
    reading.join();
    try {
      await orAborted(reading.ended, signal);
    } catch {
      // Out of time. The snapshot says what is missing.
    }
    const references = reading.snapshot();
    if (!reading.leave()) this.#abandon(reading);
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
  #abandon(reading: Reading): void {
    if (reading === this.#next) this.#next = undefined;
    reading.abandon();
  }

  /** Begins the next read, or looks again later: while another one runs and is not silent for too long, and while a crowd gathers. */
  #begin(reading: Reading): void {
    if (reading !== this.#next || this.#running.size >= READS_AT_ONCE) return;
    const silence = Math.min(...[...this.#running].map((other) => other.silentMs));
    const wait = Math.max(reading.gathersMs, this.#running.size === 0 ? 0 : IMPATIENCE_MS - silence);
    clearTimeout(this.#later);
    if (wait > 0) {
      this.#later = setTimeout(() => {
        this.#begin(reading);
      }, wait).unref();
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
 * The lists are of different moments, and a config can be handed from a pool to a node, or back, in between: in use all the time, and seen
 * in neither. So pools and builds are read before the nodes and once more after them. If none of them has changed, all that was
 * read was true at one moment, that of the nodes; otherwise it begins again (a double collect: Afek et al., "Atomic snapshots of shared
 * memory", 1993). Its one gap is an object that lives for less than one read; pools and builds live for minutes.
 */
class Reading {
  readonly ended: Promise<void>;
  readonly #api: ClusterApi;
  readonly #abandoned = new AbortController();
  readonly #pending = new Map<string, unknown>();
  readonly #referrers = new Map<string, readonly Referrer[]>();
  readonly #unreadable = new Map<string, string>();
  #renderedConfigs: RenderedConfig[] | undefined;
  readonly #openedAt = performance.now();
  #joinedAt = this.#openedAt;
  #waiting = 0;
  #heardAt = Number.NaN;
  #begunAgain = 0;
  #end: () => void = () => {};

  constructor(api: ClusterApi) {
    this.#api = api;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#pending.set(ALL, undefined);
  }

  /** For how long it should wait for more to join, before it begins; 0 or less is not at all. */
  get gathersMs(): number {
    if (this.#waiting < CROWD) return 0;
    const now = performance.now();
    return Math.min(this.#joinedAt + CROWD_QUIET_MS, this.#openedAt + CROWD_WAITS_MS) - now;
  }

  /** Somebody waits for it. */
  join(): void {
    this.#waiting += 1;
    this.#joinedAt = performance.now();
  }

  /** Somebody waits no more. Returns whether others do. */
  leave(): boolean {
    this.#waiting -= 1;
    return this.#waiting > 0;
  }

  /** How long nothing has come of it. */
  get silentMs(): number {
    return performance.now() - this.#heardAt;
  }

  begin(withRenderedConfigs: boolean): void {
    this.#heardAt = performance.now();
    this.#pending.clear();
    // Nothing counts as read before its turn.
    for (const { resource } of SOURCES) this.#pending.set(resource, undefined);
    this.#pending.set(ALL, undefined);
    const { signal } = this.#abandoned;
    const lists = [this.#readReferrers(signal), ...(withRenderedConfigs ? [this.#readRenderedConfigs(signal)] : [])];
    void Promise.all(lists).then(this.#end);
  }

  async #readReferrers(signal: AbortSignal): Promise<void> {
    let before = await this.#readHoldersFirst(signal);
    for (;;) {
      await this.#readNodes(signal);
      if (signal.aborted) return;
      // Where one cannot be read at all, nothing is gained by beginning again.
      const after = before === undefined ? undefined : await this.#readHolders(signal);
      if (signal.aborted) return;
      if (after === before) break;
      before = after;
      this.#begunAgain += 1;
    }
    this.#pending.delete(ALL);
  }

  async #readHoldersFirst(signal: AbortSignal): Promise<string | undefined> {
    const holders = this.#readHolders(signal);
    const inTime = await within(HEAD_START_MS, signal, async (limited) => await orAborted(holders, limited)).then(
      () => true,
      () => false,
    );
    // To find a use early. It proves nothing, because the nodes are read before the others.
    if (!inTime && !signal.aborted) await this.#readNodes(signal);
    return await holders;
  }

  /** The objects with their versions, by which a change is noticed; undefined where one kind could not be read. */
  async #readHolders(signal: AbortSignal): Promise<string | undefined> {
    const versions = await Promise.all(HOLDERS.map(async (source) => await this.#readVersions(source, signal)));
    return versions.includes(undefined) ? undefined : versions.join(' ');
  }

  async #readVersions(source: Source, signal: AbortSignal): Promise<string | undefined> {
    return await this.#untilRead(source.resource, async () => {
      const seen: string[] = [];
      await this.#list(source, signal, ({ metadata }) => {
        seen.push(`${String(metadata?.name)}@${String(metadata?.resourceVersion)}`);
      });
      return seen.sort((a, b) => a.localeCompare(b)).join(' ');
    });
  }

  async #readNodes(signal: AbortSignal): Promise<void> {
    await this.#untilRead(NODES.resource, async () => {
      await this.#list(NODES, signal);
    });
  }

  async #list(source: Source, signal: AbortSignal, onObject?: (object: ApiObject) => void): Promise<void> {
    const found: Referrer[] = [];
    const keep = (object: ApiObject): void => {
      this.#heardAt = performance.now();
      found.push(source.read(object));
      onObject?.(object);
    };
    await listSource(this.#api, source, keep, signal);
    this.#referrers.set(source.resource, found);
  }

  /** Nobody waits any more: ends the requests, whose answers would only cost memory. */
  abandon(): void {
    this.#abandoned.abort();
  }

  snapshot(): References {
    const isRestless = this.#begunAgain >= RESTLESS;
    const missing = [...this.#pending].filter(([what, lastError]) => {
      if (what === ALL) return isRestless || this.#pending.size === 1;
      // Read before, and now again because others changed: that it is under way explains nothing.
      return !isRestless || lastError !== undefined || !this.#referrers.has(what);
    });
    const pending = missing.map(([what, lastError]) => ({ what, reason: reasonWhy(what, lastError) }));
    const refused = [...this.#unreadable].map(([what, reason]) => ({ what, reason }));
    return {
      referrers: [...this.#referrers.values()].flat(),
      // In one order, whatever the order of the answers: people and log searches compare messages.
      unreadable: [...refused, ...pending].sort((a, b) => rank(a.what) - rank(b.what)),
      ...(this.#renderedConfigs === undefined ? {} : { renderedConfigs: this.#renderedConfigs }),
    };
  }

  /** What was read; undefined where it cannot be, or nobody waits any more. */
  async #untilRead<Result>(what: string, read: () => Promise<Result>): Promise<Result | undefined> {
    const { signal } = this.#abandoned;
    const backoff = new Backoff(100, 1_000);
    this.#pending.set(what, undefined);
    while (!signal.aborted) {
      try {
        const result = await read();
        this.#pending.delete(what);
        return result;
      } catch (error) {
        if (signal.aborted) return undefined;
        if (!mayPass(error)) {
          this.#pending.delete(what);
          this.#unreadable.set(what, reasonOf(error));
          return undefined;
        }
        this.#pending.set(what, error);
        const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
        await pause(Math.max(asked, backoff.next()), signal).catch(() => {});
      }
    }
    return undefined;
  }

  async #readRenderedConfigs(signal: AbortSignal): Promise<void> {
    await this.#untilRead('machineconfigs', async () => {
      const found: RenderedConfig[] = [];
      const keep = ({ metadata }: ApiObject): void => {
        this.#heardAt = performance.now();
        const name = configName(String(metadata?.name));
        const createdAt = new Date(String(metadata?.creationTimestamp));
        if (isRendered(name) && !Number.isNaN(createdAt.getTime())) found.push({ name, createdAt });
      };
      await listCollection(this.#api, RENDERED_CONFIGS, { metadataOnly: true }, keep, signal);
      this.#renderedConfigs = found;
    });
  }
}

function rank(what: string): number {
  const place = SOURCES.findIndex(({ resource }) => resource === what);
  return place === -1 ? SOURCES.length : place;
}

function reasonWhy(what: string, lastError: unknown): string {
  if (what === ALL) return 'they kept changing while they were read';
  return lastError === undefined ? 'no complete answer in time' : reasonOf(lastError);
}
