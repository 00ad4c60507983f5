import { ALLOW_DELETION_ANNOTATION, type Settings } from './settings.ts';
import type { Review, ReviewedConfig } from './review.ts';
import { type ConfigName, isRenderedConfig } from './config-name.ts';
import {
  allowedMessage,
  badReviewMessage,
  heldMessage,
  inUseMessage,
  weakReferenceWarnings,
  overrideWarning,
  unverifiedMessage,
  wouldDenyMessage,
  wouldDenyWarning,
} from './message.ts';
import {
  type ClusterState,
  findSupersededAt,
  type UnreadableSource,
  type ReferenceGroup,
  summarizeReferences,
} from './references.ts';
import type { DenialStatus, Verdict } from './verdict.ts';

const FORBIDDEN: DenialStatus = { code: 403, reason: 'Forbidden' };
/** Objects of each kind that a verdict names; what tells of it, names at most so many. */
const NAMED = 10;
/** Without Retry-After, clients print it once and do not retry. Never 409: the garbage collector would drop its precondition. */
const UNAVAILABLE: DenialStatus = { code: 503, reason: 'ServiceUnavailable' };
const BAD_REQUEST: DenialStatus = { code: 400, reason: 'BadRequest' };

const NO_REFERRERS = { references: [], referencesTotal: 0 } as const;

/**
 * The verdict where no look at the cluster is needed, else undefined: the object is not guarded, a person has overridden
 * the guard for it, or the guard is switched off. These work while the API server is out of reach.
 */
export function decideWithoutClusterState(review: Review, policy: Settings): Verdict | undefined {
  const { config } = review;
  if (config === undefined) {
    return allowed(undefined, 'MCG_NOT_IN_USE: not the deletion of a MachineConfig');
  }
  if (!isRenderedConfig(config.name)) {
    return allowed(config.name, allowedMessage('MCG_NOT_IN_USE', config.name, 'is not a rendered config'));
  }
  const reason = overrideReason(config);
  if (reason !== undefined) {
    return {
      outcome: 'overridden',
      code: 'MCG_OVERRIDDEN',
      config: config.name,
      message: allowedMessage(
        'MCG_OVERRIDDEN',
        config.name,
        'may be deleted: its allow-deletion annotation gives a reason',
      ),
      ...NO_REFERRERS,
      warnings: [overrideWarning(reason)],
      overrideReason: reason,
    };
  }
  if (policy.mode === 'Disabled') {
    return {
      ...allowed(config.name, allowedMessage('MCG_DISABLED', config.name, 'was not looked at: the guard is disabled')),
      code: 'MCG_DISABLED',
    };
  }
  return undefined;
}

/**
 * May the object of this review be deleted? A pure function of the question, of what was read of the cluster *after the
 * question arrived*, of the policy and of the time.
 *
 * A use that was seen refuses even where another kind could not be read: it is reason enough. Without one, everything
 * must have been read; a kind that is missing from `references` is not a kind that names nothing.
 */
export function decide(review: Review, references: ClusterState, policy: Settings, now: Date): Verdict {
  const unread = decideWithoutClusterState(review, policy);
  if (unread !== undefined) return unread;
  const config = review.config;
  if (config === undefined) throw new Error('decideUnread answers reviews without a config');
  return inMode(judged(config, references, policy, now), policy);
}

/** The refusal of a config of which nothing could be found out at all, in the form that the mode gives it. */
export function denyUnverified(
  config: ConfigName | undefined,
  unreadable: readonly UnreadableSource[],
  policy: Settings,
): Verdict {
  return inMode(denied('MCG_UNVERIFIED', config, unverifiedMessage(config, unreadable), UNAVAILABLE), policy);
}

/** The refusal of a request that cannot be read as a review. No mode softens it: there is nothing to decide about. */
export function denyBadReview(problem: string): Verdict {
  return denied('MCG_BAD_REVIEW', undefined, badReviewMessage(problem), BAD_REQUEST);
}

function judged(config: ReviewedConfig, references: ClusterState, policy: Settings, now: Date): Verdict {
  const users = summarizeReferences(config.name, references.referrers, NAMED);
  if (users.strong.total > 0) {
    const message = inUseMessage(config.name, users, config.annotations.has(ALLOW_DELETION_ANNOTATION));
    return { ...denied('MCG_IN_USE', config.name, message, FORBIDDEN), ...referrersOf(users.strong) };
  }
  const unreadable = [...references.unreadable];
  if (policy.holdSupersededMs > 0 && references.renderedConfigs === undefined && unreadable.length === 0) {
    unreadable.push({ name: 'rendered configs', reason: 'not read although a hold is set' });
  }
  if (unreadable.length > 0) {
    return denied('MCG_UNVERIFIED', config.name, unverifiedMessage(config.name, unreadable), UNAVAILABLE);
  }
  const supersededAt = findSupersededAt(config.name, references.renderedConfigs ?? []);
  const freeAt = supersededAt === undefined ? now : new Date(supersededAt.getTime() + policy.holdSupersededMs);
  if (supersededAt !== undefined && freeAt > now) {
    return denied('MCG_HELD', config.name, heldMessage(config.name, supersededAt, freeAt), FORBIDDEN);
  }
  return {
    ...allowed(config.name, allowedMessage('MCG_NOT_IN_USE', config.name, 'is not in use')),
    ...referrersOf(users.weak),
    warnings: weakReferenceWarnings(config.name, users),
  };
}

/** Warn and Audit decide the same and let it pass; only what is said differs. */
function inMode(verdict: Verdict, policy: Settings): Verdict {
  if (verdict.denialStatus === undefined || policy.mode === 'Enforce') return verdict;
  return {
    outcome: 'would-deny',
    code: 'MCG_WOULD_DENY',
    cause: verdict.code,
    config: verdict.config,
    message: wouldDenyMessage(policy.mode, verdict.message),
    references: verdict.references,
    referencesTotal: verdict.referencesTotal,
    warnings:
      policy.mode === 'Warn' && verdict.config !== undefined ? [wouldDenyWarning(verdict.code, verdict.config)] : [],
  };
}

function referrersOf({ references, total }: ReferenceGroup): Pick<Verdict, 'references' | 'referencesTotal'> {
  return { references: references, referencesTotal: total };
}

function overrideReason(config: ReviewedConfig): string | undefined {
  const reason = config.annotations.get(ALLOW_DELETION_ANNOTATION)?.trim();
  return reason === '' ? undefined : reason;
}

function allowed(config: ConfigName | undefined, message: string): Verdict {
  return { outcome: 'allowed', code: 'MCG_NOT_IN_USE', config, message, ...NO_REFERRERS, warnings: [] };
}

function denied(
  code: 'MCG_IN_USE' | 'MCG_HELD' | 'MCG_UNVERIFIED' | 'MCG_BAD_REVIEW',
  config: ConfigName | undefined,
  message: string,
  denialStatus: DenialStatus,
): Verdict {
  return { outcome: 'denied', code, config, message, denialStatus, ...NO_REFERRERS, warnings: [] };
}
