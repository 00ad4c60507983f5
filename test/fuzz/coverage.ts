import { type Profiler, Session } from 'node:inspector';

/** Which blocks of the guard's sources have run, as V8 counts them. */
export class Coverage {
  readonly #session = new Session();
  readonly #known = new Set<string>();

  /** Counts from now on. */
  constructor() {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** How many blocks have run so far, as of the last look. */
  get size(): number {
    return this.#known.size;
  }

  /** Blocks that have run since the last look, and never before it. */
  look(): readonly string[] {
    const fresh = this.#blocks().filter((block) => !this.#known.has(block));
    for (const block of fresh) this.#known.add(block);
    return fresh;
  }

  /** Which of these blocks have run since the last look. */
  among(blocks: ReadonlySet<string>): readonly string[] {
    return this.#blocks().filter((block) => blocks.has(block));
  }

  stop(): void {
    this.#session.disconnect();
  }

  #blocks(): readonly string[] {
    let taken: Profiler.TakePreciseCoverageReturnType | undefined;
    // Answered before it returns: the session is one with this very thread.
    this.#session.post('Profiler.takePreciseCoverage', (_error, result) => {
      taken = result;
    });
    const scripts = taken?.result.filter(({ url }) => url.includes('/src/') && !url.includes('/node_modules/')) ?? [];
    return scripts.flatMap(({ url, functions }) =>
      functions.flatMap(({ ranges }) =>
        ranges
          .filter(({ count }) => count > 0)
          .map(({ startOffset, endOffset }) => `${url}:${startOffset}-${endOffset}`),
      ),
    );
  }
}
