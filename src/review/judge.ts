import type { Logger } from 'pino';
import { hasStrongReference, type PoolReferrer, type Referrer } from '../mco/referrer.ts';
import type { FollowedSettings, Settings } from '../api/settings.ts';
import { allowOtherObject, decide, decideWithoutClusterState, denyUnverified, findCurrentSettings } from './decide.ts';
import type { UseHistory } from './hold.ts';
import type { Verdict } from './verdict.ts';
import type { ApiObject } from '../kube/api-object.ts';
import type { KubeApi } from '../kube/api.ts';
import { describeError } from '../kube/errors.ts';
import { withTimeout } from '../common/wait.ts';
import type { ReferenceIndex } from '../references/reference-index.ts';
import type { LiveReader } from '../references/live-reader.ts';
import { findNotReadySince } from '../mco/parse-referrer.ts';
import { findPoolOfNode, type Labels } from '../mco/pool-of-node.ts';
import type { ConfigName } from '../mco/machine-config.ts';
import { MACHINE_CONFIGS, REFERRER_RESOURCES } from '../mco/resources.ts';
import type { ClusterState, StuckNode } from '../references/cluster-state.ts';
import type { ConfigIndex, LookupResult } from '../references/config-index.ts';
import type { ConfigToDelete, JudgedReview, Review, ReviewJudge } from './review.ts';
import { getObject } from '../kube/resource.ts';
import { NO_REFERENCES, type ReferenceGroup } from '../references/config-referrers.ts';

export const CONFIRM_TIMEOUT_MS = 1_250;
/** The look-up for an override, which must also work while the API server cannot be reached. */
const OVERRIDE_LOOK_UP_TIMEOUT_MS = 500;

export interface JudgeOptions {
  readonly api: KubeApi;
  readonly index: Pick<ReferenceIndex, 'find' | 'listPools'>;
  readonly live: Pick<LiveReader, 'read'>;
  readonly configs: Pick<ConfigIndex, 'has' | 'lookUp'>;
  readonly history: UseHistory;
  readonly settings: FollowedSettings;
  readonly log: Logger;
}

/** Denies from the index or a live read, and allows only after a live read (docs/internals/decisions/0001). */
export class Judge implements ReviewJudge {
  readonly #options: JudgeOptions;

  constructor(options: JudgeOptions) {
    this.#options = options;
  }

  /**
   * Judges a deletion. When the signal aborts, which is the deadline, it decides with what it has read. The API server
   * never makes it reject.
   */
  async judge(review: Review, signal: AbortSignal): Promise<JudgedReview> {
    const { config } = review;
    if (config === undefined) return { review, verdict: allowOtherObject(), path: 'none', configState: 'missing' };
    const early = decideWithoutClusterState(config, this.#settings());
    const lookup = await this.#lookUp(config, early, signal);
    const { state: configState } = lookup;
    // If the state is still unknown at the deadline, the guard denies. If it is unknown earlier, because the guard may
    // not read MachineConfigs, the references decide.
    if (configState === 'missing' || (configState === 'unknown' && early === undefined && signal.aborted)) {
      const unreadable = [{ name: MACHINE_CONFIGS.name, reason: lookup.reason }];
      const verdict = denyUnverified(config.name, unreadable, this.#settings());
      return { review, verdict, path: 'none', configState };
    }
    if (early !== undefined) return { review, verdict: early, path: 'none', configState };
    // The index can be late. A denial needs a GET that confirms one strong reference. Only a live read that
    // starts after the review arrived can allow.
    const confirmed = await this.#confirmFromIndex(config.name, signal);
    if (confirmed !== undefined) {
      return { review, verdict: this.#decide(review, confirmed), path: 'index', configState };
    }
    const state = await this.#options.live.read(config.name, signal);
    return { review, verdict: this.#decide(review, state), path: 'live', configState };
  }

  #settings(): Settings {
    return findCurrentSettings(this.#options.settings);
  }

  /** Reads the settings after the last wait: they may have been unread, or have changed. */
  #decide(review: Review, state: ClusterState): Verdict {
    const { history, settings } = this.#options;
    const unread = settings.settings === undefined ? [{ name: 'machineconfigguards', reason: 'not read yet' }] : [];
    const unreadable = [...state.unreadable, ...unread];
    return decide(review, { ...state, unreadable }, this.#settings(), history);
  }

  /**
   * Any client can send reviews, so a config must exist before its review may cause a list, an Event or a status
   * (docs/internals/threat-model.md). A deletion that `early` allows causes none of them.
   */
  async #lookUp(config: ConfigToDelete, early: Verdict | undefined, signal: AbortSignal): Promise<LookupResult> {
    const { api, configs } = this.#options;
    if (configs.has(config)) return { state: 'exists' };
    if (early === undefined) return await configs.lookUp(api, config, signal);
    if (early.outcome === 'allowed' || signal.aborted) return { state: 'unknown', reason: 'not read' };
    return await withTimeout(OVERRIDE_LOOK_UP_TIMEOUT_MS, signal, (limited) => configs.lookUp(api, config, limited));
  }

  /** Returns the indexed references, if a GET confirms that the first strong one still exists. Never rejects. */
  async #confirmFromIndex(config: ConfigName, signal: AbortSignal): Promise<ClusterState | undefined> {
    const { api, index, log } = this.#options;
    const candidate = index.find(config)?.findFirst();
    const resource = REFERRER_RESOURCES.find(({ kind }) => kind === candidate?.kind);
    if (candidate === undefined || resource === undefined) return undefined;

    // The index keeps no labels and conditions, because there are thousands of nodes.
    const parse = (object: ApiObject): ConfirmedReferrer => ({
      name: candidate.name,
      referrer: resource.parse(object),
      labels: object.metadata?.labels ?? {},
      notReadySince: candidate.kind === 'Node' ? findNotReadySince(object) : undefined,
    });
    // Whether the only node with the config is Ready matters to the way out. It is no part of the metadata.
    const isMetadataOnly = resource.isMetadataOnly === true && !hasOneNode(index.find(config)?.summarize());
    const wanted = { ...resource, isMetadataOnly, parse };
    const get = (limited: AbortSignal) => getObject(api, wanted, candidate.name, limited);
    let current: ConfirmedReferrer | undefined;
    try {
      current = await withTimeout(CONFIRM_TIMEOUT_MS, signal, get);
    } catch (error) {
      log.debug({ reason: describeError(error) }, 'cannot get the referrer from the index; starting a live read');
    }
    if (current === undefined || !hasStrongReference(config, current.referrer)) return undefined;
    // A watch can meanwhile have delivered what happened after the GET.
    const indexed = index.find(config);
    if (indexed?.findFirst()?.name !== candidate.name) return undefined;

    const pools = index.listPools();
    const references = { strong: indexed.summarize(current.referrer), weak: NO_REFERENCES };
    const stuckNode = findStuckNode(current, pools);
    const { name, notReadySince: since } = current;
    const notReadyNode = since !== undefined && hasOneNode(references.strong) ? { name, since } : undefined;
    return { references, pools, unreportedNodes: [], unreadable: [], stuckNode, notReadyNode };
  }
}

interface ConfirmedReferrer {
  readonly name: string;
  readonly referrer: Referrer;
  readonly labels: Labels;
  /** Undefined if the object is no node, is Ready, or was read without its status. */
  readonly notReadySince: Date | undefined;
}

function hasOneNode(strong: ReferenceGroup | undefined): boolean {
  return strong?.referrersByKind.Node === 1;
}

/** Early in an installation there are no pools. */
function findStuckNode({ referrer, labels }: ConfirmedReferrer, pools: readonly PoolReferrer[]): StuckNode | undefined {
  if (referrer.kind !== 'Node' || pools.length === 0) return undefined;
  const { pool, conflicting } = findPoolOfNode(labels, pools);
  if (pool !== undefined) return undefined;
  return { name: referrer.name, conflictingPools: conflicting.map((each) => each.name).toSorted() };
}
