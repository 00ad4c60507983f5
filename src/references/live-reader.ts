import type { ClusterState } from '../decision/references.ts';
import type { KubeApi } from '../kube/api.ts';
import { waitOrAbort } from '../kube/wait.ts';
import { LiveRead } from './live-read.ts';

export interface LiveReaderOptions {
  readonly api: KubeApi;
  /** Whether a read must list the rendered configs as well, because a hold is set. Called when a read starts. */
  readonly needsRenderedConfigs?: () => boolean;
}

/**
 * If the running read has received nothing for this long, the next one starts beside it on a fresh connection. A read
 * that is only slow keeps the API server to itself: a second one would slow down both.
 */
const SILENCE_MS = 1_000;
/** Limits the memory and the load of reads that hang. */
const MAX_CONCURRENT_READS = 3;

/**
 * Lists every reference in the cluster from the API server. Concurrent reviews share a read.
 *
 * An allowed deletion never rests on stale data: a review only joins a read that has not started, so all lists of that
 * read are sent after the review arrived. A list without resourceVersion contains every write that was acknowledged
 * before the list was sent. Reviews that arrive during a read share the next one, so N parallel deletions cost two
 * reads, plus one for every 1.5 s in which they keep arriving.
 */
export class LiveReader {
  readonly #api: KubeApi;
  readonly #needsRenderedConfigs: () => boolean;
  readonly #running = new Set<LiveRead>();
  #next: LiveRead | undefined;
  #startTimer: NodeJS.Timeout | undefined;
  #readCount = 0;

  constructor({ api, needsRenderedConfigs = () => false }: LiveReaderOptions) {
    this.#api = api;
    this.#needsRenderedConfigs = needsRenderedConfigs;
  }

  /** The number of reads that were started. */
  get readCount(): number {
    return this.#readCount;
  }

  /**
   * Lists all references in requests that are sent after this call. If the signal aborts first, the result contains
   * what was listed by then and names the rest as unreadable. Never rejects.
   */
  async read(signal: AbortSignal): Promise<ClusterState> {
    const read = this.#joinNextRead();
    read.addReview();
    try {
      await waitOrAbort(read.finished, signal);
    } catch {
      // The deadline passed. The cluster state says what is missing.
    }
    const state = read.clusterState();
    read.removeReview();
    if (!read.hasReviews) this.#abandon(read);
    return state;
  }

  #joinNextRead(): LiveRead {
    if (this.#next !== undefined) return this.#next;
    const next = new LiveRead(this.#api);
    this.#next = next;
    // Not immediately: reviews that arrive in the same turn of the event loop share the read.
    setImmediate(() => {
      this.#startOrWait(next);
    });
    return next;
  }

  /** A read that has not started is forgotten, so that no review joins it later. */
  #abandon(read: LiveRead): void {
    if (read === this.#next) this.#next = undefined;
    read.abort();
  }

  /** Starts the next read, unless another one is making progress or a batch of reviews is still arriving. */
  #startOrWait(read: LiveRead): void {
    if (read !== this.#next || this.#running.size >= MAX_CONCURRENT_READS) return;
    const silentMs = Math.min(...[...this.#running].map((running) => running.silentMs));
    const delayMs = Math.max(read.batchDelayMs, this.#running.size === 0 ? 0 : SILENCE_MS - silentMs);
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
    read.start(this.#needsRenderedConfigs());
    void read.finished.then(() => {
      this.#running.delete(read);
      if (this.#next !== undefined) this.#startOrWait(this.#next);
    });
  }
}
