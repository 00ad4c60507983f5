import type { Referrer } from '../mco/referrer.ts';
import { type ApiObject, isOlderVersion } from '../kube/api-object.ts';
import type { KubeApi } from '../kube/api.ts';
import { ApiError, describeError, isRetryable, MalformedList } from '../kube/errors.ts';
import { listResource } from '../kube/lists/list.ts';
import { Backoff, sleep, waitOrAbort } from '../common/wait.ts';
import { type ReferenceIndex, ReferrersByConfig } from './reference-index.ts';
import type { ConfigName } from '../mco/machine-config.ts';
import { NODES, REFERRER_RESOURCES } from '../mco/resources.ts';
import type { ClusterState, UnreadableKind } from './cluster-state.ts';
import type { Resource } from '../kube/resource.ts';

const MAX_CONCURRENT_READS = 2;
/** After this time, the next live read starts beside a running one. */
const LATE_READ_MS = 1_250;
/** After this many restarts, the read is late because of changing objects, not a slow API server. */
const MANY_RESTARTS = 2;
/** All kinds but nodes. They seldom change, and references to configs move between them and the nodes. */
const POOLS_AND_BUILDS = REFERRER_RESOURCES.filter((resource) => resource !== NODES);

export interface LiveReaderOptions {
  readonly api: KubeApi;
  /** The newest resource version that the watches have seen, if any. */
  readonly index: Pick<ReferenceIndex, 'newestVersion'>;
}

/**
 * Lists every reference from the API server, because an allowed deletion must not rest on stale data: a list without
 * resourceVersion contains every write that was acknowledged before it (docs/internals/decisions/0001). The rule:
 *
 * - A review takes the first read to finish of those that started after the review arrived.
 * - While a review waits, a read starts if none runs, or if the last one has run for 1.25 s. At most two run at once.
 * - A read that no review waits for is aborted.
 *
 * So a dead connection delays a review by 1.25 s, a slow API server by 1.25 s and one list, and it never has
 * to serve more than two lists of all nodes for a replica.
 */
export class LiveReader {
  readCount = 0;
  readonly #options: LiveReaderOptions;
  /** How to answer each waiting review, which knows how many reads had started when it arrived. */
  readonly #waiting = new Map<{ readonly readsBefore: number }, (read: LiveRead) => void>();
  #running: readonly LiveRead[] = [];
  #startTimer: NodeJS.Timeout | undefined;

  constructor(options: LiveReaderOptions) {
    this.#options = options;
  }

  /**
   * Returns what a decision about this config depends on, from requests that are sent after this call. If the signal
   * aborts first, the result contains the finished lists and names the others as unreadable. Never rejects.
   */
  async read(config: ConfigName, signal: AbortSignal): Promise<ClusterState> {
    const review = { readsBefore: this.readCount };
    const answered = new Promise<LiveRead>((answer) => this.#waiting.set(review, answer));
    // Reviews that arrive in the same turn of the event loop share the read.
    setImmediate(() => this.#startIfDue());
    const findRunning = () => this.#running.find(({ number }) => number > review.readsBefore);
    const read = await waitOrAbort(answered, signal).catch(findRunning);
    const state = read?.findState(config);
    this.#waiting.delete(review);
    this.#abortUnneeded();
    const unreadable = [{ name: 'references', reason: 'the live read did not start in time' }];
    return state ?? { referrers: [], unreadable };
  }

  #startIfDue(): void {
    clearTimeout(this.#startTimer);
    if (this.#waiting.size === 0 || this.#running.length >= MAX_CONCURRENT_READS) return;
    const last = this.#running.at(-1);
    const delayMs = last === undefined ? 0 : last.startedAt + LATE_READ_MS - performance.now();
    if (delayMs > 0) {
      this.#startTimer = setTimeout(() => this.#startIfDue(), delayMs).unref();
      return;
    }
    this.readCount += 1;
    const read = new LiveRead(this.readCount, this.#options);
    this.#running = [...this.#running, read];
    void read.finished.then(() => this.#answerReviews(read));
    this.#startIfDue();
  }

  #answerReviews(read: LiveRead): void {
    this.#running = this.#running.filter((other) => other !== read);
    for (const [review, answer] of this.#waiting) {
      if (review.readsBefore >= read.number) continue;
      this.#waiting.delete(review);
      answer(read);
    }
    this.#abortUnneeded();
  }

  #abortUnneeded(): void {
    const first = Math.min(...[...this.#waiting.keys()].map(({ readsBefore }) => readsBefore + 1));
    for (const read of this.#running) if (read.number < first) read.abort();
    this.#running = this.#running.filter(({ number }) => number >= first);
    this.#startIfDue();
  }
}

/**
 * One list of each kind. It retries each list until it succeeds or fails permanently, such as with 403.
 *
 * A config that moves between a pool and a node could be in neither list. So the read lists pools and builds
 * before and after the nodes, and starts again if they changed (a double collect: Afek et al., "Atomic
 * snapshots of shared memory", 1993). See docs/internals/decisions/0001 for its limits.
 */
class LiveRead {
  readonly number: number;
  readonly startedAt = performance.now();
  /** Resolves when every list succeeded or failed permanently, or soon after {@link abort}. Never rejects. */
  readonly finished: Promise<void>;
  readonly #options: LiveReaderOptions;
  readonly #aborted = new AbortController();
  readonly #problems = new Map<string, string>();
  readonly #referrers = new Map<string, readonly Referrer[]>();
  #byConfig: ReferrersByConfig | undefined;
  #restarts = 0;
  #isConsistent = false;
  /** When the API server answered the first of the lists. A later one could end a hold too early. */
  #readAt: Date | undefined;

  constructor(number: number, options: LiveReaderOptions) {
    this.number = number;
    this.#options = options;
    this.finished = this.#readReferrers();
  }

  abort(): void {
    this.#aborted.abort();
  }

  findState(config: ConfigName): ClusterState {
    this.#byConfig ??= new ReferrersByConfig([...this.#referrers.values()].flat());
    const referrers = this.#byConfig.find(config);
    return { referrers, unreadable: this.#findUnreadable(), readAt: this.#readAt };
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
      referrers.push(resource.parse(object));
      const { metadata } = object;
      if (resource !== NODES) versions.push(`${String(metadata?.name)}@${String(metadata?.resourceVersion)}`);
    };
    // Before the request, because a list is only as new as its request.
    const { api, index } = this.#options;
    const newest = index.newestVersion(resource.name);
    const list = await listResource(api, resource, add, this.#aborted.signal);
    if (list !== undefined) {
      if (newest !== undefined && isOlderVersion(list.resourceVersion, newest))
        throw new MalformedList(`the list has version ${list.resourceVersion}, but ${newest} was seen before`);
      if (this.#readAt === undefined || list.servedAt < this.#readAt) this.#readAt = list.servedAt;
    }
    if (resource === NODES && referrers.length === 0)
      throw new MalformedList('the API server listed no nodes, but every cluster has one');
    this.#referrers.set(resource.name, referrers);
    this.#byConfig = undefined;
    return versions.toSorted().join(' ');
  }

  /** In a fixed order, because people and log searches compare messages. */
  #findUnreadable(): UnreadableKind[] {
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
