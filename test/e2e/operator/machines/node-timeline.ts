import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import type { KubeApi } from '../../../../src/kube/api.ts';
import { WATCHES } from '../../../../src/kube/api.ts';
import type { KubeObject } from '../../control-plane/kube-client.ts';
import { until } from '../../control-plane/until.ts';
import { PATHS, readAnnotations } from '../../support/objects.ts';

/** What a node reports about its configs. */
export interface NodeReport {
  readonly state: string;
  /** Empty without the annotation. */
  readonly reason: string;
  readonly current: string;
  readonly desired: string;
}

interface Observation extends NodeReport {
  /** Milliseconds, of `performance.now()`. */
  readonly at: number;
}

/** Every report of a node, from a watch, so that none is missed. */
export class NodeTimeline {
  readonly #observations: Observation[] = [];
  readonly #stopped = new AbortController();
  readonly #watch: Promise<unknown>;
  #failure: unknown;

  constructor(api: KubeApi, node: string) {
    const query = new URLSearchParams({ watch: 'true', fieldSelector: `metadata.name=${node}` });
    this.#watch = this.#read(api, `${PATHS.nodes}?${query.toString()}`).catch((error: unknown) => {
      this.#failure = this.#stopped.signal.aborted ? undefined : error;
    });
  }

  /** The reports so far, each unlike the one before. */
  get all(): readonly Observation[] {
    return this.#observations;
  }

  /**
   * Waits for the report at an index, and returns it behind the one before.
   * @throws Error if the watch has ended
   */
  async awaitReport(index: number, what: () => string): Promise<readonly [Observation | undefined, Observation]> {
    const report = await until(what, async () => {
      if (this.#failure !== undefined) throw new Error('the watch of the node failed', { cause: this.#failure });
      return this.#observations[index];
    });
    return [this.#observations[index - 1], report];
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#watch;
  }

  async #read(api: KubeApi, path: string): Promise<never> {
    const { body } = await api.request({ path, purpose: WATCHES, signal: this.#stopped.signal });
    for await (const line of createInterface({ input: body })) {
      const { type, object } = JSON.parse(line) as { readonly type: string; readonly object: KubeObject };
      // Between a deletion and a new registration, the node reports nothing.
      if (type !== 'DELETED') this.#add(object);
    }
    throw new Error('the API server has ended the watch');
  }

  #add(node: KubeObject): void {
    const { state = '', reason = '', currentConfig = '', desiredConfig = '' } = readAnnotations(node);
    const report = { state, reason, current: currentConfig, desired: desiredConfig };
    const { at: _at, ...last } = this.#observations.at(-1) ?? { at: 0 };
    if (!isDeepStrictEqual(last, report)) this.#observations.push({ ...report, at: performance.now() });
  }
}
