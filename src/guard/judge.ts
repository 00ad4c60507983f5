import type { Logger } from 'pino';
import type { ConfigName } from '../decision/config-name.ts';
import { decide, decideWithoutClusterState, denyUnverified } from '../decision/decide.ts';
import {
  type ClusterState,
  type ConfigHistory,
  hasStrongReference,
  type Referrer,
} from '../decision/references.ts';
import type { ConfigToDelete, Review } from '../decision/review.ts';
import type { Settings } from '../decision/settings.ts';
import type { Verdict } from '../decision/verdict.ts';
import type { KubeApi } from '../kube/api.ts';
import { describeError } from '../kube/errors.ts';
import { sleep, withTimeout } from '../kube/wait.ts';
import { getReferrer } from '../references/get-referrer.ts';
import type { ConfigLookup, LookupResult } from '../references/config-lookup.ts';
import type { LiveReader } from '../references/live-reader.ts';
import type { ReferenceIndex } from '../references/reference-index.ts';
import { SharedGets } from '../references/shared-gets.ts';
import { MACHINE_CONFIGS } from '../references/sources.ts';
import type { Judgement, ReviewJudge } from '../webhook/judgement.ts';

export interface JudgeOptions {
  readonly api: KubeApi;
  readonly index: Pick<ReferenceIndex, 'findReferrers'>;
  readonly live: Pick<LiveReader, 'read'>;
  readonly configs: Pick<ConfigLookup, 'find' | 'isIndexed'>;
  /** What the guard remembers of a config, compared with the pools of a live read. */
  readonly historyOf: (config: ConfigName, pools: Iterable<Referrer>) => ConfigHistory;
  readonly settings: () => Settings;
  readonly log: Logger;
  readonly now?: () => Date;
}

/** The API client sends a GET again after 1 s of silence. Leaves time for the live read. */
const CONFIRM_TIMEOUT_MS = 1_250;
/** An override must also work while the API server cannot be reached. */
const OVERRIDE_TIMEOUT_MS = 500;
/** Between two checks whether the watch has delivered what the live read shows. */
const WATCH_INTERVAL_MS = 20;

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
      const early = decideWithoutClusterState(review, settings);
      const lookup = await this.#lookUp(review.config, early, signal);
      const { state: configState } = lookup;
      if (configState === 'missing' || (configState === 'unknown' && early === undefined && signal.aborted)) {
        const verdict = denyUnverified(name, [{ name: MACHINE_CONFIGS.name, reason: lookup.reason }], settings);
        return { verdict, path: 'none', configState };
      }
      if (early !== undefined) return { verdict: early, path: 'none', configState };
      // The index can be late. A denial needs a GET that confirms one strong reference. Only a live read that
      // starts after the review arrived can allow.
      const confirmed = name === undefined ? undefined : await this.#confirmFromIndex(name, signal);
      if (confirmed !== undefined)
        return { verdict: decide(review, confirmed, settings, this.#now()), path: 'index', configState };
      let state = await this.#options.live.read(signal);
      if (name !== undefined && settings.holdSupersededMs > 0) {
        state = { ...state, history: await this.#readHistory(name, state, signal) };
      }
      return { verdict: decide(review, state, settings, this.#now()), path: 'live', configState };
    } catch (error) {
      this.#options.log.error({ err: error }, 'cannot decide a review');
      const verdict = denyUnverified(name, [{ name: 'the guard', reason: 'internal error' }], settings);
      return { verdict, path: 'none', configState: 'unknown' };
    }
  }

  /**
   * Any client can send reviews, so a config must exist before its review may cause a list, an Event or a status
   * (docs/threat-model.md). An allowed deletion causes none of them.
   */
  async #lookUp(
    config: ConfigToDelete | undefined,
    early: Verdict | undefined,
    signal: AbortSignal,
  ): Promise<LookupResult> {
    const { configs } = this.#options;
    if (config !== undefined && configs.isIndexed(config)) return { state: 'exists' };
    if (config === undefined || early?.outcome === 'allowed') return { state: 'unknown', reason: 'not read' };
    if (early === undefined) return await configs.find(config, signal);
    return await withTimeout(
      OVERRIDE_TIMEOUT_MS,
      signal,
      async (limited) => await configs.find(config, limited),
    );
  }

  /** Waits until the memory contains what the live read shows, unless the config is in use or unverified. */
  async #readHistory(
    config: ConfigName,
    { referrers, unreadable }: ClusterState,
    signal: AbortSignal,
  ): Promise<ConfigHistory> {
    // Hundreds of reviews can wait for the watch, and there can be thousands of nodes.
    const pools = referrers.filter(({ kind }) => kind === 'MachineConfigPool');
    let history = this.#options.historyOf(config, pools);
    if (unreadable.length > 0 || referrers.some((referrer) => hasStrongReference(config, referrer)))
      return history;
    while (history.unreadable !== undefined && !signal.aborted) {
      await sleep(WATCH_INTERVAL_MS, signal);
      history = this.#options.historyOf(config, pools);
    }
    // The watch can be late to report that a node was removed.
    const isListed = (node: Referrer): boolean =>
      referrers.some(({ kind, name }) => kind === 'Node' && name === node.name);
    const removed = this.#options.index
      .findReferrers(config)
      .find((node) => node.kind === 'Node' && hasStrongReference(config, node) && !isListed(node));
    if (removed === undefined) return history;
    return { ...history, removedNode: { name: removed.name, at: this.#now() } };
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
