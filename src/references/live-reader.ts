import type { ClusterState } from '../decision/references.ts';
import type { KubeApi } from '../kube/api.ts';
import { waitOrAbort } from '../kube/wait.ts';
import { LiveRead } from './live-read.ts';

/** What a live reader needs. */
export interface LiveReaderOptions {
  readonly api: KubeApi;
  /** Must the rendered configs themselves be read too, because a hold is set? Asked at the start of each read. */
  readonly needsRenderedConfigs?: () => boolean;
}

/**
 * How long a read may be silent before the next one starts beside it: one that hangs must not keep those who came after it from a
 * fresh connection. One that is only slow, because the API server is busy, goes on alone: another beside it would make both slower.
 */
const IMPATIENCE_MS = 1_000;
/** Bounds the memory and the load of reads that hang. */
const READS_AT_ONCE = 3;

/**
 * Reads every reference in the cluster afresh, and lets parallel reviews share the reading.
 *
 * Why nothing stale can slip through: a review joins only a read that has not begun. All its lists are therefore sent
 * after the review arrived, and a list without resourceVersion holds every write that was acknowledged before it was
 * sent. Reviews that arrive while a read runs share the next one, so that N parallel deletes cost two reads, and one more for each
 * second and a half that they take to arrive.
 */
export class LiveReader {
  readonly #api: KubeApi;
  readonly #needsRenderedConfigs: () => boolean;
  readonly #running = new Set<LiveRead>();
  #next: LiveRead | undefined;
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
  async read(signal: AbortSignal): Promise<ClusterState> {
    const reading = this.#join();
    reading.join();
    try {
      await waitOrAbort(reading.ended, signal);
    } catch {
      // Out of time. The snapshot says what is missing.
    }
    const references = reading.snapshot();
    if (!reading.leave()) this.#abandon(reading);
    return references;
  }

  #join(): LiveRead {
    if (this.#next !== undefined) return this.#next;
    const next = new LiveRead(this.#api);
    this.#next = next;
    // Not at once: reviews that arrived in the same turn of the event loop share the read.
    setImmediate(() => {
      this.#begin(next);
    });
    return next;
  }

  /** Nobody waits for this read any more. One that has not begun is forgotten, so that nobody joins it later. */
  #abandon(reading: LiveRead): void {
    if (reading === this.#next) this.#next = undefined;
    reading.abandon();
  }

  /** Begins the next read, or looks again later: while another one runs and is not silent for too long, and while a crowd gathers. */
  #begin(reading: LiveRead): void {
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
