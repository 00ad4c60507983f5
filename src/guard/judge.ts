import type { Logger } from 'pino';
import type { ConfigName } from '../decision/config-name.ts';
import { decide, decideWithoutClusterState, denyUnverified } from '../decision/decide.ts';
import { type ClusterState, hasStrongReference, type Referrer } from '../decision/references.ts';
import type { Review } from '../decision/review.ts';
import type { Settings } from '../decision/settings.ts';
import type { KubeApi } from '../kube/api.ts';
import { describeError } from '../kube/errors.ts';
import { withTimeout } from '../kube/wait.ts';
import { getReferrer } from '../references/get-referrer.ts';
import type { LiveReader } from '../references/live-reader.ts';
import type { ReferenceIndex } from '../references/reference-index.ts';
import { SharedGets } from '../references/shared-gets.ts';
import type { Judgement, ReviewJudge } from '../webhook/judgement.ts';

export interface JudgeOptions {
  readonly api: KubeApi;
  readonly index: Pick<ReferenceIndex, 'findReferrers'>;
  readonly live: Pick<LiveReader, 'read'>;
  readonly settings: () => Settings;
  readonly log: Logger;
  readonly now?: () => Date;
}

/** The API client sends a GET again after 1 s of silence. Leaves time for the live read. */
const CONFIRM_TIMEOUT_MS = 1_250;

/** Denies from the index or a live read, and allows only after a live read (docs/adr/0001). */
export class Judge implements ReviewJudge {
  readonly #options: JudgeOptions;
  readonly #now: () => Date;
  readonly #gets = new SharedGets<Referrer | undefined>();

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
      // The index can be late. A denial needs a GET that confirms one strong reference. Only a live read that
      // starts after the review arrived can allow.
      const confirmed = name === undefined ? undefined : await this.#confirmFromIndex(name, signal);
      if (confirmed !== undefined)
        return { verdict: decide(review, confirmed, settings, this.#now()), path: 'index' };
      const state = await this.#options.live.read(signal);
      return { verdict: decide(review, state, settings, this.#now()), path: 'live' };
    } catch (error) {
      this.#options.log.error({ err: error }, 'cannot decide a review');
      const unreadable = [{ name: 'the guard', reason: 'internal error' }];
      return { verdict: denyUnverified(name, unreadable, settings), path: 'none' };
    }
  }

  /**
   * Returns the indexed referrers, if a GET confirms that the first strong one still references the config.
   */
  async #confirmFromIndex(config: ConfigName, signal: AbortSignal): Promise<ClusterState | undefined> {
    const { api, index, log } = this.#options;
    const referrers = index.findReferrers(config);
    const position = referrers.findIndex((referrer) => hasStrongReference(config, referrer));
    const candidate = referrers[position];
    if (candidate === undefined) return undefined;
    const { kind, name } = candidate;
    const send = (shared: AbortSignal): Promise<Referrer | undefined> => getReferrer(api, kind, name, shared);
    try {
      const current = await withTimeout(CONFIRM_TIMEOUT_MS, signal, (limited) =>
        this.#gets.get(`${kind}/${name}`, send, limited),
      );
      if (current === undefined || !hasStrongReference(config, current)) return undefined;
      return { referrers: referrers.with(position, current), unreadable: [] };
    } catch (error) {
      log.debug(
        { reason: describeError(error) },
        'cannot get the referrer from the index; starting a live read',
      );
      return undefined;
    }
  }
}
