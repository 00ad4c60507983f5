import { type Profiler, Session } from 'node:inspector';

/** The blocks of src that run in this process, as V8 counts them. */
export class Coverage {
  readonly #session = new Session();

  constructor() {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** Returns the blocks that have run since the last call. */
  takeBlocks(): string[] {
    let coverage: Profiler.TakePreciseCoverageReturnType | undefined;
    // The callback runs before post() returns, because the session is one with this thread.
    this.#session.post('Profiler.takePreciseCoverage', (_error, result) => {
      coverage = result;
    });
    const scripts = coverage?.result.filter(({ url }) => /\/src\/(?!.*\/node_modules\/)/.test(url)) ?? [];
    return scripts.flatMap(({ url, functions }) => {
      const ranges = functions.flatMap((covered) => covered.ranges.filter(({ count }) => count > 0));
      return ranges.map(({ startOffset, endOffset }) => `${url}:${startOffset}-${endOffset}`);
    });
  }

  stop(): void {
    this.#session.disconnect();
  }
}
