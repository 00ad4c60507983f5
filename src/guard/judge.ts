import type { Logger } from 'pino';
import type { ConfigName } from '../decision/config-name.ts';
import { decide, decideWithoutClusterState, denyUnverified } from '../decision/decide.ts';
import { type ClusterState, hasStrongReference } from '../decision/references.ts';
import type { Review } from '../decision/review.ts';
import type { Settings } from '../decision/settings.ts';
import type { KubeApi } from '../kube/api.ts';
import { describeError } from '../kube/errors.ts';
import { withTimeout } from '../kube/wait.ts';
import { getReferrer } from '../references/get-referrer.ts';
import type { LiveReader } from '../references/live-reader.ts';
import type { ReferenceIndex } from '../references/reference-index.ts';
import type { Judgement, ReviewJudge } from '../webhook/judgement.ts';

export interface JudgeOptions {
  readonly api: KubeApi;
  readonly index: Pick<ReferenceIndex, 'findReferrers'>;
  readonly live: Pick<LiveReader, 'read'>;
  /** The settings that apply now. */
  readonly settings: () => Settings;
  readonly log: Logger;
  readonly now?: () => Date;
}

/** A GET takes milliseconds. A slower one is abandoned, so that the live read still has time. */
const CONFIRM_TIMEOUT_MS = 1_000;

/** Reads what a verdict needs and decides. */
export class Judge implements ReviewJudge {
  readonly #options: JudgeOptions;
  readonly #now: () => Date;

  constructor(options: JudgeOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => new Date());
  }

  async judge(review: Review, signal: AbortSignal): Promise<Judgement> {
    const settings = this.#options.settings();
    const name = review.config?.name;
    try {
      const verdict = decideWithoutClusterState(review, settings);
      if (verdict !== undefined) return { verdict, path: 'none' };
      // The index can be late, so it only shows where to look: a denial needs one referrer that names the config now.
      // An empty index proves nothing: a write can be acknowledged before the watch delivers it, and allowing the
      // deletion would then break the node that was just told to use the config. Only a read that starts after the
      // review arrived can allow.
      const confirmed = name === undefined ? undefined : await this.#confirmFromIndex(name, signal);
      if (confirmed !== undefined) return { verdict: decide(review, confirmed, settings, this.#now()), path: 'index' };
      const state = await this.#options.live.read(signal);
      return { verdict: decide(review, state, settings, this.#now()), path: 'live' };
    } catch (error) {
      this.#options.log.error({ err: error }, 'cannot decide a review');
      const unreadable = [{ name: 'the guard', reason: 'internal error' }];
      return { verdict: denyUnverified(name, unreadable, settings), path: 'none' };
    }
  }

  /** What the index knows about a config, if a GET confirms that its first strong referrer still names it. */
  async #confirmFromIndex(config: ConfigName, signal: AbortSignal): Promise<ClusterState | undefined> {
    const { api, index, log } = this.#options;
    const referrers = index.findReferrers(config);
    const position = referrers.findIndex((referrer) => hasStrongReference(config, referrer));
    const candidate = referrers[position];
    if (candidate === undefined) return undefined;
    try {
      const current = await withTimeout(CONFIRM_TIMEOUT_MS, signal, (limited) =>
        getReferrer(api, candidate.kind, candidate.name, limited),
      );
      if (current === undefined || !hasStrongReference(config, current)) return undefined;
      return { referrers: referrers.with(position, current), unreadable: [] };
    } catch (error) {
      log.debug({ reason: describeError(error) }, 'cannot get the referrer from the index; starting a live read');
      return undefined;
    }
  }
}
