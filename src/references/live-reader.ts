import { setImmediate as waitForNextTurn } from 'node:timers/promises';
import { LIVE_READ_SILENCE_MS } from '../decision/deadline.ts';
import type { ClusterState } from '../decision/references.ts';
import type { KubeApi } from '../kube/api.ts';
import { waitOrAbort } from '../common/wait.ts';
import { type KnownVersions, LiveRead } from './live-read.ts';

/** Limits the memory and the load of hanging reads. */
const MAX_CONCURRENT_READS = 3;

/**
 * Lists every reference from the API server. A review only joins a read that has not started, and a list
 * without resourceVersion contains every write that was acknowledged before. So an allowed deletion never
 * rests on stale data (docs/internals/decisions/0001).
 *
 * N parallel deletions cost two reads, plus one for every 1.5 s in which they keep arriving.
 */
export class LiveReader {
  readonly #api: KubeApi;
  readonly #versions: KnownVersions;
  readonly #running = new Set<LiveRead>();
  #next: LiveRead | undefined;
  #startTimer: NodeJS.Timeout | undefined;
  #readCount = 0;
  #lastTurn: Promise<void> = Promise.resolve();

  constructor({ api, versions }: { readonly api: KubeApi; readonly versions: KnownVersions }) {
    this.#api = api;
    this.#versions = versions;
  }

  get readCount(): number {
    return this.#readCount;
  }

  /**
   * Lists all references in requests that are sent after this call. If the signal aborts first, the result
   * contains the finished lists and names the others as unreadable. Never rejects.
   */
  async read(signal: AbortSignal): Promise<ClusterState> {
    const read = this.#joinNextRead();
    read.addReview();
    try {
      await waitOrAbort(read.finished, signal);
    } catch {
      // The cluster state names the unfinished lists.
    }
    const state = read.clusterState();
    read.removeReview();
    if (!read.hasReviews) this.#abandon(read);
    await this.#waitForTurn();
    return state;
  }

  /**
   * Each review visits every referrer to decide. Hundreds that share a read would hold the event loop together, so each
   * decides in its own turn.
   */
  async #waitForTurn(): Promise<void> {
    this.#lastTurn = this.#lastTurn.then(async () => await waitForNextTurn());
    await this.#lastTurn;
  }

  #joinNextRead(): LiveRead {
    if (this.#next !== undefined) return this.#next;
    const next = new LiveRead(this.#api, this.#versions);
    this.#next = next;
    // Reviews that arrive in the same turn of the event loop share the read.
    setImmediate(() => {
      this.#startOrWait(next);
    });
    return next;
  }

  /** No review can join the read afterwards. */
  #abandon(read: LiveRead): void {
    if (read === this.#next) this.#next = undefined;
    read.abort();
  }

  /** Starts the next read, unless one is making progress or a batch of reviews is still arriving. */
  #startOrWait(read: LiveRead): void {
    if (read !== this.#next || this.#running.size >= MAX_CONCURRENT_READS) return;
    const silentMs = Math.min(...[...this.#running].map((running) => running.silentMs));
    const delayMs = Math.max(read.batchDelayMs, this.#running.size === 0 ? 0 : LIVE_READ_SILENCE_MS - silentMs);
    clearTimeout(this.#startTimer);
    if (delayMs > 0) {
      this.#startTimer = setTimeout(() => {
        this.#startOrWait(read);
      }, delayMs).unref();
      return;
    }
    this.#next = undefined;
    this.#running.add(read);
    this.#readCount += 1;
    read.start();
    void read.finished.then(() => {
      this.#running.delete(read);
      if (this.#next !== undefined) this.#startOrWait(this.#next);
    });
  }
}
