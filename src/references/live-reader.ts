import { Backoff, sleep, waitOrAbort } from '../common/wait.ts';
import { type ApiObject, isOlderVersion } from '../kube/api-object.ts';
import type { KubeApi, Purpose } from '../kube/api.ts';
import { ApiError, describeError, hasStatus, isRetryable, MalformedList } from '../kube/errors.ts';
import { listResource } from '../kube/lists/list.ts';
import type { ObjectFilter } from '../kube/lists/protobuf-list-parser.ts';
import type { Resource } from '../kube/resource.ts';
import type { ConfigName } from '../mco/machine-config.ts';
import { isManagedByOperator } from '../mco/pool-of-node.ts';
import { createNodeFilter } from '../mco/parse-referrer.ts';
import type { Referrer, UnreportedNode } from '../mco/referrer.ts';
import { NODES, REFERRER_RESOURCES } from '../mco/resources.ts';
import type { ClusterState, UnreadableKind } from './cluster-state.ts';
import { MAX_NAMED_REFERRERS, NO_REFERENCES, summarizeReferences } from './config-referrers.ts';
import { formatVersions, type ReferenceIndex } from './reference-index.ts';

/** Also a bound on what a slow API server has to do for a replica. */
const MAX_CONCURRENT_READS = 2;
/** After this time, the next live read starts beside a running one. */
const LATE_READ_MS = 1_250;
/** After this many restarts, the read is late because of changing objects, not a slow API server. */
const MANY_RESTARTS = 2;
/** All kinds but nodes. They seldom change, and references to configs move between them and the nodes. */
const POOLS_AND_BUILDS = REFERRER_RESOURCES.filter((resource) => resource !== NODES);
/** Each kind of each read has a connection, however many of them hang. */
const LIVE_READS: Purpose = { name: 'live reads', maxConnections: MAX_CONCURRENT_READS * REFERRER_RESOURCES.length };

export interface LiveReaderOptions {
  readonly api: KubeApi;
  /** What the watches have seen, if anything. */
  readonly index: Pick<ReferenceIndex, 'newestVersion' | 'formatPoolsAndBuilds'>;
}

/** A review that waits for a live read. */
interface WaitingReview {
  readonly config: ConfigName;
  /** How many reads had started when it arrived. */
  readonly readsBefore: number;
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
 * to serve more than two lists of all nodes for the reviews of a replica.
 */
export class LiveReader {
  readCount = 0;
  readonly #options: LiveReaderOptions;
  readonly #waiting = new Map<WaitingReview, (read: LiveRead) => void>();
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
    const review = { config, readsBefore: this.readCount };
    const answered = new Promise<LiveRead>((answer) => this.#waiting.set(review, answer));
    // Reviews that arrive in the same turn of the event loop share the read.
    setImmediate(() => this.#startIfDue());
    const findRunning = () => this.#running.find(({ number }) => number > review.readsBefore);
    const read = await waitOrAbort(answered, signal).catch(findRunning);
    const state = read?.findState(config);
    this.#waiting.delete(review);
    this.#abortUnneeded();
    return state ?? NO_STATE;
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
    const configs = new Set([...this.#waiting.keys()].map(({ config }) => config));
    const read = new LiveRead(this.readCount, configs, this.#options);
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

const NOT_STARTED = { name: 'references', reason: 'the live read did not start in time' };
const NO_STATE: ClusterState = {
  references: { strong: NO_REFERENCES, weak: NO_REFERENCES },
  pools: [],
  unreportedNodes: [],
  unreadable: [NOT_STARTED],
};

/**
 * A list of each kind. It retries each list until it succeeds or fails permanently, such as with 403.
 *
 * A config that moves between a pool and a node could be in neither list. So the API server reads the pools and builds
 * after the nodes, and they must equal what the guard knew of them before it: then nothing has changed while the nodes
 * were listed (a double collect: Afek et al., "Atomic snapshots of shared memory", 1993). Otherwise the read starts
 * again. The index has the state before, or else a first list. See docs/internals/decisions/0001 for the limits.
 */
class LiveRead {
  readonly number: number;
  readonly startedAt = performance.now();
  /** Resolves when every list succeeded or failed permanently, or soon after {@link abort}. Never rejects. */
  readonly finished: Promise<void>;
  readonly #options: LiveReaderOptions;
  /** The configs of all reviews that can take this read. It keeps only the nodes with these, and unreported ones. */
  readonly #configs: ReadonlySet<ConfigName>;
  readonly #nodeFilter: ObjectFilter;
  readonly #aborted = new AbortController();
  readonly #problems = new Map<string, Omit<UnreadableKind, 'name'>>();
  readonly #referrers = new Map<string, readonly Referrer[]>();
  #restarts = 0;
  #isConsistent = false;
  /** When the API server answered the first of the lists. A later one could end a hold too early. */
  #readAt: Date | undefined;

  constructor(number: number, configs: ReadonlySet<ConfigName>, options: LiveReaderOptions) {
    this.number = number;
    this.#configs = configs;
    this.#nodeFilter = createNodeFilter(configs);
    this.#options = options;
    this.finished = this.#readReferrers();
  }

  abort(): void {
    this.#aborted.abort();
  }

  /** Returns what was read so far. */
  findState(config: ConfigName): ClusterState {
    const referrers = [...this.#referrers.values()].flat();
    const pools = referrers.filter((referrer) => referrer.kind === 'MachineConfigPool');
    const unreported = referrers.filter(isUnreported);
    const named = referrers.filter((referrer) => referrer.references.some((each) => each.config === config));
    return {
      references: named.length === 0 ? NO_STATE.references : summarizeReferences(config, named, MAX_NAMED_REFERRERS),
      pools,
      unreportedNodes: unreported.filter((node) => isManagedByOperator(node, pools)),
      unreadable: this.#findUnreadable(),
      readAt: this.#readAt,
    };
  }

  async #readReferrers(): Promise<void> {
    const { signal } = this.#aborted;
    let before = this.#options.index.formatPoolsAndBuilds() ?? (await this.#readPoolsAndBuilds());
    for (;;) {
      const after = await this.#readAll();
      if (signal.aborted) return;
      // If a kind is unreadable, the guard allows nothing, so another round would not help.
      if (after === undefined || after === before) break;
      before = after;
      this.#restarts += 1;
    }
    this.#isConsistent = true;
  }

  /**
   * Lists the nodes, and the pools and builds as soon as the list of nodes can no longer change, which is before it has
   * arrived. Returns what {@link #readPoolsAndBuilds} does.
   */
  async #readAll(): Promise<string | undefined> {
    let last: Promise<string | undefined> | undefined;
    await this.#read(NODES, () => {
      // One after another, because each replaces what the last one has read.
      last = Promise.resolve(last).then(async () => await this.#readPoolsAndBuilds());
    });
    return await (last ?? this.#readPoolsAndBuilds());
  }

  /** Returns names and versions, or undefined if one of the kinds is unreadable. */
  async #readPoolsAndBuilds(): Promise<string | undefined> {
    const versions = await Promise.all(POOLS_AND_BUILDS.map(async (resource) => await this.#read(resource)));
    return versions.includes(undefined) ? undefined : versions.join(' ');
  }

  /** Lists until it succeeds. Returns undefined if the resource is unreadable or the read was aborted. */
  async #read(resource: Resource<Referrer>, onHead?: () => void): Promise<string | undefined> {
    const { signal } = this.#aborted;
    const backoff = new Backoff(100, 1_000);
    this.#problems.set(resource.name, { reason: 'no complete answer in time' });
    while (!signal.aborted) {
      try {
        const referrers = await this.#list(resource, onHead);
        this.#referrers.set(resource.name, referrers);
        this.#problems.delete(resource.name);
        return formatVersions(referrers);
      } catch (error) {
        if (signal.aborted) return undefined;
        this.#problems.set(resource.name, { reason: describeError(error), isForbidden: hasStatus(error, 403) });
        if (!isRetryable(error)) return undefined;
        const retryAfterMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
        await sleep(Math.max(retryAfterMs, backoff.next()), signal);
      }
    }
    return undefined;
  }

  /** @throws like `listResource`, and MalformedList if the list cannot be one of the present cluster */
  async #list(resource: Resource<Referrer>, onHead: (() => void) | undefined): Promise<readonly Referrer[]> {
    const { api, index } = this.#options;
    const isOfNodes = resource === NODES;
    const referrers: Referrer[] = [];
    const add = (object: ApiObject): void => {
      const referrer = resource.parse(object);
      if (!isOfNodes || this.#isNeeded(referrer)) referrers.push(referrer);
    };
    // Before the request, because a list is only as new as its request.
    const newest = index.newestVersion(resource.name);
    const listed = isOfNodes ? { ...NODES, isNeeded: this.#nodeFilter } : resource;
    const list = await listResource(api, listed, add, this.#aborted.signal, { purpose: LIVE_READS, onHead });
    if (list !== undefined) {
      if (newest !== undefined && isOlderVersion(list.resourceVersion, newest))
        throw new MalformedList(`the list has version ${list.resourceVersion}, but ${newest} was seen before`);
      if (this.#readAt === undefined || list.servedAt < this.#readAt) this.#readAt = list.servedAt;
    }
    if (isOfNodes && list?.itemCount === 0)
      throw new MalformedList('the API server listed no nodes, but every cluster has one');
    return referrers;
  }

  #isNeeded(node: Referrer): boolean {
    return isUnreported(node) || node.references.some(({ config }) => this.#configs.has(config));
  }

  /** In a fixed order, because people and log searches compare messages. */
  #findUnreadable(): UnreadableKind[] {
    const unreadable = REFERRER_RESOURCES.flatMap(({ name }) => {
      const problem = this.#problems.get(name);
      return problem === undefined ? [] : [{ name, ...problem }];
    });
    if (!this.#isConsistent && (this.#restarts >= MANY_RESTARTS || unreadable.length === 0)) {
      unreadable.push({ name: 'references', reason: 'they kept changing while they were read' });
    }
    return unreadable;
  }
}

function isUnreported(referrer: Referrer): referrer is UnreportedNode {
  return referrer.kind === 'Node' && referrer.state.type === 'unreported';
}
