import { setImmediate as waitForNextTurn } from 'node:timers/promises';
import PQueue from 'p-queue';
import { type ConfigName, isObjectName } from '../decision/config-name.ts';
import { findNearestName } from '../decision/nearest-name.ts';
import { type ConfigExistence, decideReferenceChange } from '../decision/reference-change.ts';
import type { ReferenceReview } from '../decision/review.ts';
import type { Settings } from '../decision/settings.ts';
import type { KubeApi } from '../kube/api.ts';
import { describeError } from '../kube/errors.ts';
import { withTimeout } from '../kube/wait.ts';
import type { ConfigIndex } from '../references/config-index.ts';
import { getConfig } from '../references/get-config.ts';
import { SharedGets } from '../references/shared-gets.ts';
import type { Judgement, ReviewJudge } from '../webhook/judgement.ts';

export interface ReferenceJudgeOptions {
  readonly api: Pick<KubeApi, 'json'>;
  readonly index: Pick<ConfigIndex, 'names' | 'isForbidden'>;
  readonly settings: () => Settings;
}

/** Made-up names must keep neither the API server nor the reviews of deletions busy. */
const MAX_CONCURRENT_LOOKUPS = 2;
/** The API client sends a GET again after 1 s of silence. */
const GET_TIMEOUT_MS = 1_250;

/** Decides updates that change which config a node or a pool references. */
export class ReferenceJudge implements ReviewJudge<ReferenceReview> {
  readonly #options: ReferenceJudgeOptions;
  readonly #lookups = new SharedGets<ConfigExistence>();
  readonly #queue = new PQueue({ concurrency: MAX_CONCURRENT_LOOKUPS });

  constructor(options: ReferenceJudgeOptions) {
    this.#options = options;
  }

  async judge(review: ReferenceReview, signal: AbortSignal): Promise<Judgement> {
    const { mode } = this.#options.settings();
    const configs = mode === 'Disabled' ? [] : [...new Set(review.references.map(({ config }) => config))];
    const existences = new Map(
      await Promise.all(configs.map(async (config) => [config, await this.#find(config, signal)] as const)),
    );
    const verdict = decideReferenceChange(review, existences, mode);
    return { verdict, path: configs.length === 0 ? 'none' : 'index', configState: 'unknown' };
  }

  /** Never rejects. */
  async #find(config: ConfigName, signal: AbortSignal): Promise<ConfigExistence> {
    if (this.#options.index.isForbidden) return { state: 'unknown', reason: 'the guard may not read them' };
    try {
      return await this.#lookups.get(
        config,
        async (shared) => await this.#queue.add(async () => await this.#lookUp(config, shared)),
        signal,
      );
    } catch (error) {
      return { state: 'unknown', reason: signal.aborted ? 'no answer in time' : describeError(error) };
    }
  }

  /** Looks into the index, and confirms with a GET that a config is missing, because the index can be late. */
  async #lookUp(config: ConfigName, signal: AbortSignal): Promise<ConfigExistence> {
    const { api, index } = this.#options;
    // Collecting and comparing thousands of names takes milliseconds, so other reviews go first.
    await waitForNextTurn();
    signal.throwIfAborted();
    const names = index.names();
    if (names.has(config)) return { state: 'exists' };
    const get = (limited: AbortSignal) => getConfig(api, config, limited);
    const object = isObjectName(config) ? await withTimeout(GET_TIMEOUT_MS, signal, get) : undefined;
    if (object !== undefined) return { state: 'exists' };
    return { state: 'missing', nearest: findNearestName(config, names) };
  }
}
