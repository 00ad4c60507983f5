import type { Logger } from 'pino';
import { type ClusterApi, reasonOf } from '../cluster/api.ts';
import { freshReferrer } from '../cluster/fresh-referrer.ts';
import type { LiveReader } from '../cluster/live-reader.ts';
import type { ReferenceIndex } from '../cluster/reference-index.ts';
import { within } from '../cluster/wait.ts';
import type { ConfigName } from '../policy/config-name.ts';
import { decide, decideUnread, unverified } from '../policy/decide.ts';
import type { Policy } from '../policy/policy.ts';
import { breaksWithout, type References } from '../policy/references.ts';
import type { Review } from '../policy/review.ts';
import type { Verdict } from '../policy/verdict.ts';

/** Where a verdict's knowledge came from: nowhere, one fresh read of a suspect, or a fresh read of everything. */
export type Path = 'none' | 'index' | 'live';

/** A verdict and how it was reached. */
export interface Judgement {
  readonly verdict: Verdict;
  readonly path: Path;
}

/** What a judge needs. */
export interface JudgeOptions {
  readonly api: ClusterApi;
  readonly index: Pick<ReferenceIndex, 'concerning'>;
  readonly live: LiveReader;
  /** The policy in force now. */
  readonly policy: () => Policy;
  readonly log: Logger;
  readonly now?: () => Date;
}

/** One GET takes milliseconds. One that takes longer is given up, so that the full read still has time. */
const CONFIRM_MS = 1_000;

/** Finds out what a verdict needs and decides. Never rejects: what goes wrong becomes "could not verify". */
export class Judge {
  readonly #api: ClusterApi;
  readonly #index: Pick<ReferenceIndex, 'concerning'>;
  readonly #live: LiveReader;
  readonly #policy: () => Policy;
  readonly #log: Logger;
  readonly #now: () => Date;

  constructor({ api, index, live, policy, log, now = () => new Date() }: JudgeOptions) {
    this.#api = api;
    this.#index = index;
    this.#live = live;
    this.#policy = policy;
    this.#log = log;
    this.#now = now;
  }

  /** Answers a review that has arrived. The signal says when the time for reading is over. */
  async judge(review: Review, signal: AbortSignal): Promise<Judgement> {
    const policy = this.#policy();
    try {
      const unread = decideUnread(review, policy);
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
      const unreadable = [{ what: 'the guard', reason: 'internal error' }];
      return { verdict: unverified(review.config?.name, unreadable, policy), path: 'none' };
    }
  }

  /** What the index knows of this config, if a fresh GET confirms that its first referrer still names it. */
  async #confirmedSuspicion(config: ConfigName, signal: AbortSignal): Promise<References | undefined> {
    const known = this.#index.concerning(config);
    const place = known.findIndex((referrer) => breaksWithout(config, referrer));
    const suspect = known[place];
    if (suspect === undefined) return undefined;
    try {
      const fresh = await within(
        CONFIRM_MS,
        signal,
        async (limited) => await freshReferrer(this.#api, suspect.kind, suspect.name, limited),
      );
      if (fresh === undefined || !breaksWithout(config, fresh)) return undefined;
      return { referrers: known.with(place, fresh), unreadable: [] };
    } catch (error) {
      this.#log.debug({ reason: reasonOf(error) }, 'a suspected referrer could not be read; reading everything');
      return undefined;
    }
  }
}
