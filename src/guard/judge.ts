import type { Logger } from 'pino';
import type { Settings } from '../decision/settings.ts';
import type { Review } from '../decision/review.ts';
import { type KubeApi, describeError } from '../kube/api.ts';
import { getReferrer } from '../references/get-referrer.ts';
import type { LiveReader } from '../references/live-reader.ts';
import type { ReferenceIndex } from '../references/reference-index.ts';
import { withTimeout } from '../kube/wait.ts';
import type { ConfigName } from '../decision/config-name.ts';
import { decide, decideWithoutClusterState, denyUnverified } from '../decision/decide.ts';
import { hasStrongReference, type ClusterState } from '../decision/references.ts';
import type { Judgement } from '../webhook/judgement.ts';

/** What a judge needs. */
export interface JudgeOptions {
  readonly api: KubeApi;
  readonly index: Pick<ReferenceIndex, 'findReferrers'>;
  readonly live: LiveReader;
  /** The policy in force now. */
  readonly settings: () => Settings;
  readonly log: Logger;
  readonly now?: () => Date;
}

/** One GET takes milliseconds. One that takes longer is given up, so that the full read still has time. */
const CONFIRM_MS = 1_000;

/** Finds out what a verdict needs and decides. Never rejects: what goes wrong becomes "could not verify". */
export class Judge {
  readonly #api: KubeApi;
  readonly #index: Pick<ReferenceIndex, 'findReferrers'>;
  readonly #live: LiveReader;
  readonly #policy: () => Settings;
  readonly #log: Logger;
  readonly #now: () => Date;

  constructor({ api, index, live, settings, log, now = () => new Date() }: JudgeOptions) {
    this.#api = api;
    this.#index = index;
    this.#live = live;
    this.#policy = settings;
    this.#log = log;
    this.#now = now;
  }

  /** Answers a review that has arrived. The signal says when the time for reading is over. */
  async judge(review: Review, signal: AbortSignal): Promise<Judgement> {
    const policy = this.#policy();
    try {
      const unread = decideWithoutClusterState(review, policy);
      if (unread !== undefined) return { verdict: unread, path: 'none' };
      const config = review.config?.name;
      // The index may be late, so it only says where to look: a refusal needs one referrer that names the config *now*.
      // That it names none proves nothing. A write may be acknowledged and not have reached us yet, and then allowing
      // would break the node that was just told to use the config. Only a read that begins after the review arrived
      // counts for that.
      const suspected = config === undefined ? undefined : await this.#confirmedSuspicion(config, signal);
      if (suspected !== undefined) return { verdict: decide(review, suspected, policy, this.#now()), path: 'index' };
      const references = await this.#live.read(signal);
      return { verdict: decide(review, references, policy, this.#now()), path: 'live' };
    } catch (error) {
      this.#log.error({ err: error }, 'a review could not be judged');
      const unreadable = [{ name: 'the guard', reason: 'internal error' }];
      return { verdict: denyUnverified(review.config?.name, unreadable, policy), path: 'none' };
    }
  }

  /** What the index knows of this config, if a fresh GET confirms that its first referrer still names it. */
  async #confirmedSuspicion(config: ConfigName, signal: AbortSignal): Promise<ClusterState | undefined> {
    const known = this.#index.findReferrers(config);
    const place = known.findIndex((referrer) => hasStrongReference(config, referrer));
    const suspect = known[place];
    if (suspect === undefined) return undefined;
    try {
      const fresh = await withTimeout(
        CONFIRM_MS,
        signal,
        async (limited) => await getReferrer(this.#api, suspect.kind, suspect.name, limited),
      );
      if (fresh === undefined || !hasStrongReference(config, fresh)) return undefined;
      return { referrers: known.with(place, fresh), unreadable: [] };
    } catch (error) {
      this.#log.debug({ reason: describeError(error) }, 'a suspected referrer could not be read; reading everything');
      return undefined;
    }
  }
}
