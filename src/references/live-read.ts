import { toConfigName, isRenderedConfig } from '../decision/config-name.ts';
import type { Referrer, ClusterState, RenderedConfig } from '../decision/references.ts';
import type { ApiObject } from '../kube/api-object.ts';
import { ApiError, type KubeApi, describeError } from '../kube/api.ts';
import { listCollection, listResource, isRetryable } from '../kube/lists/list.ts';
import type { Resource } from '../kube/resource.ts';
import { Backoff, waitOrAbort, sleep, withTimeout } from '../kube/wait.ts';
import { BUILDS, NODES, POOLS, REFERRER_RESOURCES } from './sources.ts';

/** Few objects that change seldom, between which and the nodes configs are handed on. */
const HOLDERS: readonly Resource[] = [POOLS, BUILDS];
/** What is not known yet where every list has been read, and not yet confirmed that they belong together. */
const ALL = 'references';

/** Having begun again this often, a read is without end because of what is read, not because of who answers. */
const RESTLESS = 2;
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
 * One read of everything: a list a kind, each tried again until it succeeds, is refused, or nobody waits.
 *
 * The lists are of different moments, and a config can be handed from a pool to a node, or back, in between: in use all the time, and seen
 * in neither. So pools and builds are read before the nodes and once more after them. If none of them has changed, all that was
 * read was true at one moment, that of the nodes; otherwise it begins again (a double collect: Afek et al., "Atomic snapshots of shared
 * memory", 1993). Its one gap is an object that lives for less than one read; pools and builds live for minutes.
 */
export class LiveRead {
  readonly ended: Promise<void>;
  readonly #api: KubeApi;
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

  constructor(api: KubeApi) {
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
    for (const { name } of REFERRER_RESOURCES) this.#pending.set(name, undefined);
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
    const inTime = await withTimeout(
      HEAD_START_MS,
      signal,
      async (limited) => await waitOrAbort(holders, limited),
    ).then(
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

  async #readVersions(source: Resource, signal: AbortSignal): Promise<string | undefined> {
    return await this.#untilRead(source.name, async () => {
      const seen: string[] = [];
      await this.#list(source, signal, ({ metadata }) => {
        seen.push(`${String(metadata?.name)}@${String(metadata?.resourceVersion)}`);
      });
      return seen.sort((a, b) => a.localeCompare(b)).join(' ');
    });
  }

  async #readNodes(signal: AbortSignal): Promise<void> {
    await this.#untilRead(NODES.name, async () => {
      await this.#list(NODES, signal);
    });
  }

  async #list(source: Resource, signal: AbortSignal, onObject?: (object: ApiObject) => void): Promise<void> {
    const found: Referrer[] = [];
    const keep = (object: ApiObject): void => {
      this.#heardAt = performance.now();
      found.push(source.parse(object));
      onObject?.(object);
    };
    await listResource(this.#api, source, keep, signal);
    this.#referrers.set(source.name, found);
  }

  /** Nobody waits any more: ends the requests, whose answers would only cost memory. */
  abandon(): void {
    this.#abandoned.abort();
  }

  snapshot(): ClusterState {
    const isRestless = this.#begunAgain >= RESTLESS;
    const missing = [...this.#pending].filter(([what, lastError]) => {
      if (what === ALL) return isRestless || this.#pending.size === 1;
      // Read before, and now again because others changed: that it is under way explains nothing.
      return !isRestless || lastError !== undefined || !this.#referrers.has(what);
    });
    const pending = missing.map(([what, lastError]) => ({ name: what, reason: reasonWhy(what, lastError) }));
    const refused = [...this.#unreadable].map(([what, reason]) => ({ name: what, reason }));
    return {
      referrers: [...this.#referrers.values()].flat(),
      // In one order, whatever the order of the answers: people and log searches compare messages.
      unreadable: [...refused, ...pending].sort((a, b) => rank(a.name) - rank(b.name)),
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
        if (!isRetryable(error)) {
          this.#pending.delete(what);
          this.#unreadable.set(what, describeError(error));
          return undefined;
        }
        this.#pending.set(what, error);
        const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
        await sleep(Math.max(asked, backoff.next()), signal).catch(() => {});
      }
    }
    return undefined;
  }

  async #readRenderedConfigs(signal: AbortSignal): Promise<void> {
    await this.#untilRead('machineconfigs', async () => {
      const found: RenderedConfig[] = [];
      const keep = ({ metadata }: ApiObject): void => {
        this.#heardAt = performance.now();
        const name = toConfigName(String(metadata?.name));
        const createdAt = new Date(String(metadata?.creationTimestamp));
        if (isRenderedConfig(name) && !Number.isNaN(createdAt.getTime())) found.push({ name, createdAt });
      };
      await listCollection(this.#api, RENDERED_CONFIGS, { isMetadataOnly: true }, keep, signal);
      this.#renderedConfigs = found;
    });
  }
}

function rank(what: string): number {
  const place = REFERRER_RESOURCES.findIndex(({ name }) => name === what);
  return place === -1 ? REFERRER_RESOURCES.length : place;
}

function reasonWhy(what: string, lastError: unknown): string {
  if (what === ALL) return 'they kept changing while they were read';
  return lastError === undefined ? 'no complete answer in time' : describeError(lastError);
}
