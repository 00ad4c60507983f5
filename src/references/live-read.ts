import { ApiError, describeError, isRetryable } from '../kube/errors.ts';
import { isRenderedConfig } from '../decision/config-name.ts';
import type { ClusterState, Referrer, ConfigMetadata, UnreadableSource } from '../decision/references.ts';
import type { ApiObject } from '../kube/api-object.ts';
import { type KubeApi } from '../kube/api.ts';
import { listCollection, listResource } from '../kube/lists/list.ts';
import type { Resource } from '../kube/resource.ts';
import { Backoff, sleep, waitOrAbort, withTimeout } from '../kube/wait.ts';
import { BUILDS, MACHINE_CONFIGS, NODES, POOLS, REFERRER_RESOURCES } from './sources.ts';

/** Few objects that seldom change. A reference to a config moves between them and the nodes. */
const POOLS_AND_BUILDS: readonly Resource<Referrer>[] = [POOLS, BUILDS];
/** After this many restarts a read is late because the objects keep changing, not because the API server is slow. */
const MANY_RESTARTS = 2;
/**
 * How long the lists of pools and builds may delay the list of nodes. They are short and take milliseconds. If one of
 * them hangs, a node that names the config must be found all the same.
 */
const MAX_NODE_DELAY_MS = 250;

/**
 * This many waiting reviews are taken for a bulk deletion of which more reviews are on their way. The read then starts
 * when no review has arrived for BATCH_QUIET_MS, after MAX_BATCH_DELAY_MS at the latest: a review has 3.8 s, so a slow
 * read still has time.
 */
const BATCH_SIZE = 10;
const BATCH_QUIET_MS = 50;
const MAX_BATCH_DELAY_MS = 1_500;

/**
 * One read of all references: a list of each resource, retried until it succeeds, is denied, or no review waits.
 *
 * The lists show different moments. If a pool hands a config to a node between two lists, neither list shows it
 * although the config is in use all the time. So the read lists pools and builds before and after the nodes. If they
 * did not change, everything was true at one moment, that of the node list. If they did, the read starts again (a
 * double collect: Afek et al., "Atomic snapshots of shared memory", 1993). See docs/adr/0001 for what this cannot show.
 */
export class LiveRead {
  /** Resolves when every list succeeded or was denied. Does not resolve after {@link abort}. */
  readonly finished: Promise<void>;
  readonly #api: KubeApi;
  readonly #aborted = new AbortController();
  /** The resources that are being listed, with the error of the last attempt. */
  readonly #pending = new Map<string, unknown>();
  readonly #referrers = new Map<string, readonly Referrer[]>();
  readonly #unreadable = new Map<string, string>();
  readonly #createdAt = performance.now();
  #renderedConfigs: ConfigMetadata[] | undefined;
  #reviewCount = 0;
  #lastReviewAt = this.#createdAt;
  #lastProgressAt: number | undefined;
  #restarts = 0;
  #isConsistent = false;
  #finish: () => void = () => {};

  constructor(api: KubeApi) {
    this.#api = api;
    this.finished = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  /** Milliseconds for which the start should wait for more reviews; 0 or less means no delay. */
  get batchDelayMs(): number {
    if (this.#reviewCount < BATCH_SIZE) return 0;
    const startAt = Math.min(this.#lastReviewAt + BATCH_QUIET_MS, this.#createdAt + MAX_BATCH_DELAY_MS);
    return startAt - performance.now();
  }

  /** Milliseconds since the read last received an object. */
  get silentMs(): number {
    return performance.now() - (this.#lastProgressAt ?? Number.NaN);
  }

  get hasReviews(): boolean {
    return this.#reviewCount > 0;
  }

  addReview(): void {
    this.#reviewCount += 1;
    this.#lastReviewAt = performance.now();
  }

  removeReview(): void {
    this.#reviewCount -= 1;
  }

  /** Sends the lists. */
  start(withRenderedConfigs: boolean): void {
    this.#lastProgressAt = performance.now();
    for (const { name } of REFERRER_RESOURCES) this.#pending.set(name, undefined);
    const lists = [this.#readReferrers(), ...(withRenderedConfigs ? [this.#readRenderedConfigs()] : [])];
    void Promise.all(lists).then(this.#finish);
  }

  /** Ends the requests. */
  abort(): void {
    this.#aborted.abort();
  }

  /** What has been read so far. */
  clusterState(): ClusterState {
    return {
      referrers: [...this.#referrers.values()].flat(),
      unreadable: this.#unreadableSources(),
      ...(this.#renderedConfigs === undefined ? {} : { renderedConfigs: this.#renderedConfigs }),
    };
  }

  async #readReferrers(): Promise<void> {
    const { signal } = this.#aborted;
    let before = await this.#readPoolsAndBuildsFirst();
    for (;;) {
      await this.#readNodes();
      if (signal.aborted) return;
      // Without one of the kinds nothing can be allowed, so another round would not help.
      const after = before === undefined ? undefined : await this.#readPoolsAndBuilds();
      if (signal.aborted) return;
      if (after === before) break;
      before = after;
      this.#restarts += 1;
    }
    this.#isConsistent = true;
  }

  async #readPoolsAndBuildsFirst(): Promise<string | undefined> {
    const { signal } = this.#aborted;
    const versions = this.#readPoolsAndBuilds();
    const isInTime = await withTimeout(MAX_NODE_DELAY_MS, signal, (limited) => waitOrAbort(versions, limited)).then(
      () => true,
      () => false,
    );
    // This can only deny: the list of nodes does not follow those of the pools and builds.
    if (!isInTime && !signal.aborted) await this.#readNodes();
    return await versions;
  }

  /** Names and versions of all pools and builds; undefined if one of the kinds is unreadable. */
  async #readPoolsAndBuilds(): Promise<string | undefined> {
    const versions = await Promise.all(POOLS_AND_BUILDS.map(async (resource) => await this.#readVersions(resource)));
    return versions.includes(undefined) ? undefined : versions.join(' ');
  }

  async #readVersions(resource: Resource<Referrer>): Promise<string | undefined> {
    return await this.#retry(resource.name, async () => {
      const versions: string[] = [];
      await this.#list(resource, ({ metadata }) => {
        versions.push(`${String(metadata?.name)}@${String(metadata?.resourceVersion)}`);
      });
      return versions.toSorted().join(' ');
    });
  }

  async #readNodes(): Promise<void> {
    await this.#retry(NODES.name, async () => {
      await this.#list(NODES);
    });
  }

  async #list(resource: Resource<Referrer>, onObject?: (object: ApiObject) => void): Promise<void> {
    const referrers: Referrer[] = [];
    const add = (object: ApiObject): void => {
      this.#lastProgressAt = performance.now();
      referrers.push(resource.parse(object));
      onObject?.(object);
    };
    await listResource(this.#api, resource, add, this.#aborted.signal);
    this.#referrers.set(resource.name, referrers);
  }

  async #readRenderedConfigs(): Promise<void> {
    await this.#retry(MACHINE_CONFIGS.name, async () => {
      const configs: ConfigMetadata[] = [];
      const add = (object: ApiObject): void => {
        this.#lastProgressAt = performance.now();
        const config = MACHINE_CONFIGS.parse(object);
        if (isRenderedConfig(config.name)) configs.push(config);
      };
      await listCollection(this.#api, MACHINE_CONFIGS.paths[0], MACHINE_CONFIGS, add, this.#aborted.signal);
      this.#renderedConfigs = configs;
    });
  }

  /** Returns undefined if the resource is unreadable or the read was aborted. */
  async #retry<Result>(resource: string, read: () => Promise<Result>): Promise<Result | undefined> {
    const { signal } = this.#aborted;
    const backoff = new Backoff(100, 1_000);
    this.#pending.set(resource, undefined);
    while (!signal.aborted) {
      try {
        const result = await read();
        this.#pending.delete(resource);
        return result;
      } catch (error) {
        if (signal.aborted) return undefined;
        if (!isRetryable(error)) {
          this.#pending.delete(resource);
          this.#unreadable.set(resource, describeError(error));
          return undefined;
        }
        this.#pending.set(resource, error);
        const retryAfterMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
        await sleep(Math.max(retryAfterMs, backoff.next()), signal).catch(() => {});
      }
    }
    return undefined;
  }

  #unreadableSources(): UnreadableSource[] {
    if (this.#lastProgressAt === undefined) {
      return [{ name: 'references', reason: 'the live read did not start in time' }];
    }
    const keptChanging = this.#restarts >= MANY_RESTARTS;
    const unreadable = [...this.#unreadable].map(([name, reason]) => ({ name, reason }));
    for (const [name, error] of this.#pending) {
      // It was listed once and is listed again only because other objects changed. That explains nothing.
      if (keptChanging && error === undefined && this.#referrers.has(name)) continue;
      unreadable.push({ name, reason: error === undefined ? 'no complete answer in time' : describeError(error) });
    }
    if (!this.#isConsistent && (keptChanging || this.#pending.size === 0)) {
      unreadable.push({ name: 'references', reason: 'they kept changing while they were read' });
    }
    // In a fixed order, whatever the order of the responses: people and log searches compare messages.
    return unreadable.toSorted((a, b) => positionOf(a.name) - positionOf(b.name));
  }
}

function positionOf(name: string): number {
  const position = REFERRER_RESOURCES.findIndex((resource) => resource.name === name);
  return position === -1 ? REFERRER_RESOURCES.length : position;
}
