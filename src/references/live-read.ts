import { ApiError, describeError, isRetryable, MalformedList } from '../kube/errors.ts';
import { MAX_BATCH_DELAY_MS } from '../decision/deadline.ts';
import { type ClusterState, isPool, type Referrer, type UnreadableSource } from '../decision/references.ts';
import type { ApiObject } from '../kube/api-object.ts';
import { type KubeApi } from '../kube/api.ts';
import { listResource } from '../kube/lists/list.ts';
import { isOlderVersion, type Resource } from '../kube/resource.ts';
import { Backoff, sleep } from '../common/wait.ts';
import { isManagedByOperator } from './managed-nodes.ts';
import { NODES, REFERRER_RESOURCES } from './sources.ts';

/** All kinds but nodes. They seldom change, and references to configs move between them and the nodes. */
const POOLS_AND_BUILDS = REFERRER_RESOURCES.filter((resource) => resource !== NODES);
/** After this many restarts, the read is late because of changing objects, not a slow API server. */
const MANY_RESTARTS = 2;

/**
 * With this many waiting reviews, the guard assumes a bulk deletion. The read then starts when no review has
 * arrived for BATCH_QUIET_MS, after MAX_BATCH_DELAY_MS at the latest.
 */
const BATCH_SIZE = 10;
const BATCH_QUIET_MS = 50;

/** The resource versions that the guard has seen. */
export interface KnownVersions {
  /** Undefined if the guard has seen none. */
  readonly newestVersion: (resource: string) => string | undefined;
  /** Called after a list with an older version, so that {@link newestVersion} goes back if the cluster did. */
  readonly checkVersions: () => void;
}

/**
 * One read of all references. It retries each list until it succeeds, fails permanently (such as with 403),
 * or no review waits.
 *
 * A config that moves between a pool and a node could be in neither list. So the read lists pools and builds
 * before and after the nodes, and starts again if they changed (a double collect: Afek et al., "Atomic
 * snapshots of shared memory", 1993). See docs/internals/decisions/0001 for its limits.
 */
export class LiveRead {
  /** Resolves when every list succeeded or failed permanently, or soon after {@link abort}. */
  readonly finished: Promise<void>;
  readonly #api: KubeApi;
  readonly #versions: KnownVersions;
  readonly #aborted = new AbortController();
  /** Why a resource is not listed, or not yet. */
  readonly #problems = new Map<string, string>();
  readonly #referrers = new Map<string, readonly Referrer[]>();
  /** Of all resources. Shared by the reviews, and undefined after a further list. */
  #allReferrers: readonly Referrer[] | undefined;
  readonly #createdAt = performance.now();
  #reviewCount = 0;
  #lastReviewAt = this.#createdAt;
  #lastProgressAt: number | undefined;
  #restarts = 0;
  #isConsistent = false;
  /** When the API server answered the first of the lists. A later one could end a hold too early. */
  #readAt: Date | undefined;
  #finish: () => void = () => {};

  constructor(api: KubeApi, versions: KnownVersions) {
    this.#api = api;
    this.#versions = versions;
    this.finished = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  /** How long the start should wait for more reviews; 0 or less means no delay. */
  get batchDelayMs(): number {
    if (this.#reviewCount < BATCH_SIZE) return 0;
    const startAt = Math.min(this.#lastReviewAt + BATCH_QUIET_MS, this.#createdAt + MAX_BATCH_DELAY_MS);
    return startAt - performance.now();
  }

  /** The time since the last object, or since the start. NaN before the start. */
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

  start(): void {
    this.#lastProgressAt = performance.now();
    void this.#readReferrers().then(this.#finish);
  }

  abort(): void {
    this.#aborted.abort();
  }

  clusterState(): ClusterState {
    this.#allReferrers ??= this.#findManaged();
    return { referrers: this.#allReferrers, unreadable: this.#unreadableSources(), readAt: this.#readAt };
  }

  #findManaged(): readonly Referrer[] {
    const referrers = [...this.#referrers.values()].flat();
    const pools = referrers.filter(isPool);
    return referrers.filter((referrer) => isManagedByOperator(referrer, pools));
  }

  async #readReferrers(): Promise<void> {
    const { signal } = this.#aborted;
    let versionsBefore = await this.#readPoolsAndBuilds();
    for (;;) {
      await this.#read(NODES);
      if (signal.aborted) return;
      // If a kind is unreadable, the guard allows nothing, so another round would not help.
      const versionsAfter = versionsBefore === undefined ? undefined : await this.#readPoolsAndBuilds();
      if (signal.aborted) return;
      if (versionsAfter === versionsBefore) break;
      versionsBefore = versionsAfter;
      this.#restarts += 1;
    }
    this.#isConsistent = true;
  }

  /** Returns names and versions, or undefined if one of the kinds is unreadable. */
  async #readPoolsAndBuilds(): Promise<string | undefined> {
    const versions = await Promise.all(POOLS_AND_BUILDS.map(async (resource) => await this.#read(resource)));
    return versions.includes(undefined) ? undefined : versions.join(' ');
  }

  /** Lists until it succeeds. Returns undefined if the resource is unreadable or the read was aborted. */
  async #read(resource: Resource<Referrer>): Promise<string | undefined> {
    const { signal } = this.#aborted;
    const backoff = new Backoff(100, 1_000);
    this.#problems.set(resource.name, 'no complete answer in time');
    while (!signal.aborted) {
      try {
        const versions = await this.#list(resource);
        this.#problems.delete(resource.name);
        return versions;
      } catch (error) {
        if (signal.aborted) return undefined;
        this.#problems.set(resource.name, describeError(error));
        if (!isRetryable(error)) return undefined;
        const retryAfterMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
        await sleep(Math.max(retryAfterMs, backoff.next()), signal);
      }
    }
    return undefined;
  }

  /** Returns names and versions of pools or builds. Those of nodes are not compared. */
  async #list(resource: Resource<Referrer>): Promise<string> {
    const referrers: Referrer[] = [];
    const versions: string[] = [];
    const add = (object: ApiObject): void => {
      this.#lastProgressAt = performance.now();
      referrers.push(resource.parse(object));
      const { metadata } = object;
      if (resource !== NODES) versions.push(`${String(metadata?.name)}@${String(metadata?.resourceVersion)}`);
    };
    // Before the request, because a list is only as new as its request.
    const newest = this.#versions.newestVersion(resource.name);
    const list = await listResource(this.#api, resource, add, this.#aborted.signal);
    if (list !== undefined) {
      this.#checkVersion(list.resourceVersion, newest);
      if (this.#readAt === undefined || list.servedAt < this.#readAt) this.#readAt = list.servedAt;
    }
    if (resource === NODES && referrers.length === 0)
      throw new MalformedList('the API server listed no nodes, but every cluster has one');
    this.#referrers.set(resource.name, referrers);
    this.#allReferrers = undefined;
    return versions.toSorted().join(' ');
  }

  /** @throws MalformedList if a newer version was known before the request */
  #checkVersion(version: string, newest: string | undefined): void {
    if (newest === undefined || !isOlderVersion(version, newest)) return;
    this.#versions.checkVersions();
    throw new MalformedList(`the list has version ${version}, but ${newest} was seen before`);
  }

  /** In a fixed order, because people and log searches compare messages. */
  #unreadableSources(): UnreadableSource[] {
    if (this.#lastProgressAt === undefined) {
      return [{ name: 'references', reason: 'the live read did not start in time' }];
    }
    const unreadable = REFERRER_RESOURCES.flatMap(({ name }) => {
      const reason = this.#problems.get(name);
      return reason === undefined ? [] : [{ name, reason }];
    });
    if (!this.#isConsistent && (this.#restarts >= MANY_RESTARTS || unreadable.length === 0)) {
      unreadable.push({ name: 'references', reason: 'they kept changing while they were read' });
    }
    return unreadable;
  }
}
