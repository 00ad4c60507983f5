import { explainInUse, explainUnverified, formatWarning, formatWarnings } from './message.ts';
import { explainHeld, findHold, type UseHistory } from './hold.ts';
import { type DenialStatus, MAX_RECORDED_REFERRERS, type Verdict } from './verdict.ts';
import { DEFAULT_SETTINGS, type FollowedSettings, type Settings } from '../api/settings.ts';
import { type Code, DOCS_BASE } from '../api/codes.ts';
import { type ConfigName, findOverrideReason, formatName, isRenderedConfig } from '../mco/machine-config.ts';
import type { ClusterState, UnreadableKind } from '../references/cluster-state.ts';
import type { ConfigToDelete, Review } from './review.ts';
import type { ReferenceGroup } from '../references/config-referrers.ts';
import { measureAge } from '../common/wait.ts';
import { toPrintableLine } from '../common/printable-text.ts';

/** Not 409, because after it the garbage collector deletes without its precondition. */
const FORBIDDEN: DenialStatus = { code: 403, reason: 'Forbidden' };
/** Without a Retry-After header clients print it and do not retry. */
const UNAVAILABLE: DenialStatus = { code: 503, reason: 'ServiceUnavailable' };
const BAD_REQUEST: DenialStatus = { code: 400, reason: 'BadRequest' };

const NOTHING_FOUND = { references: [], referencesTotal: 0, warnings: [] } as const;

/** An older mode counts as Enforce, because it can have changed to Enforce since. */
const MAX_SETTINGS_AGE_MS = 15_000;

/** Returns the settings that apply now. Until they were read, these are the defaults. */
export function findCurrentSettings({ settings = DEFAULT_SETTINGS, readAt }: FollowedSettings): Settings {
  if (readAt === undefined || measureAge(readAt) <= MAX_SETTINGS_AGE_MS) return settings;
  return { ...settings, mode: 'Enforce', outdatedMode: settings.mode };
}

/** One strong reference denies, even if a kind is unreadable. Otherwise all must be read after the review arrived. */
export function decide(review: Review, state: ClusterState, settings: Settings, history: UseHistory): Verdict {
  const { config } = review;
  if (config === undefined) return allowOtherObject();
  return (
    // Again, because the mode may have changed since the review arrived.
    decideWithoutClusterState(config, settings) ??
    applyMode(decideByReferences(config, state, settings, history), settings)
  );
}

/** Denies what the guard could not read, unless the mode only warns or audits. */
export function denyUnverified(
  config: ConfigName | undefined,
  unreadable: readonly UnreadableKind[],
  settings: Settings,
): Verdict {
  return applyMode(denyUnread(config, unreadable, settings), settings);
}

/** Denies a request that is not a readable review, in every mode. */
export function denyBadReview(problem: string): Verdict {
  const sentence = `${toPrintableLine(problem, 300)}.`;
  return { ...deny('MCG_BAD_REVIEW', undefined, [sentence], BAD_REQUEST), warnings: [] };
}

/** Allows the deletion of what is no rendered config. */
export function allowOtherObject(): Verdict {
  return allow('MCG_NOT_RENDERED', undefined, 'MCG_NOT_RENDERED: not the deletion of a rendered MachineConfig');
}

/** Decides if the config is not protected, its annotation allows the deletion, or the mode is Disabled. */
export function decideWithoutClusterState(config: ConfigToDelete, { mode }: Settings): Verdict | undefined {
  const { name } = config;
  if (!isRenderedConfig(name)) return allowConfig('MCG_NOT_RENDERED', name, 'is not a rendered config');
  const reason = findOverrideReason(config.allowDeletion);
  if (reason !== undefined) {
    return {
      ...allowConfig('MCG_OVERRIDDEN', name, 'may be deleted: its allow-deletion annotation gives a reason'),
      outcome: 'overridden',
      warnings: [formatWarning(`MCG_OVERRIDDEN: deletion allowed by annotation: ${reason}`)],
      overrideReason: reason,
    };
  }
  if (mode !== 'Disabled') return undefined;
  return allowConfig('MCG_DISABLED', name, 'was not checked: the guard is disabled');
}

function decideByReferences(
  config: ConfigToDelete,
  state: ClusterState,
  settings: Settings,
  history: UseHistory,
): Verdict {
  const { name, allowDeletion } = config;
  const { references, unreportedNodes, unreadable, readAt: now } = state;
  if (references.strong.total > 0) {
    const sentences = [...explainInUse(name, state, allowDeletion !== undefined), ...explainOutdatedMode(settings)];
    return { ...deny('MCG_IN_USE', name, sentences, FORBIDDEN), ...toRecorded(references.strong) };
  }
  if (unreadable.length > 0 || now === undefined) return denyUnread(name, unreadable, settings);

  const hold = findHold(config, state, { holdMs: settings.holdSupersededMs, now, ...history });
  if (hold !== undefined) {
    return deny('MCG_HELD', name, [...explainHeld(name, hold), ...explainOutdatedMode(settings)], FORBIDDEN);
  }
  const needsWarning = references.weak.total + unreportedNodes.length > 0;
  return {
    ...allowConfig('MCG_NOT_IN_USE', name, 'is not in use'),
    ...toRecorded(references.weak),
    warnings: needsWarning ? formatWarnings(name, references.weak, unreportedNodes.length) : [],
  };
}

function denyUnread(
  config: ConfigName | undefined,
  unreadable: readonly UnreadableKind[],
  settings: Settings,
): Verdict {
  const sentences = [...explainUnverified(config, unreadable), ...explainOutdatedMode(settings)];
  return deny('MCG_UNVERIFIED', config, sentences, UNAVAILABLE);
}

function toRecorded({ references, total }: ReferenceGroup): Pick<Verdict, 'references' | 'referencesTotal'> {
  const first = references.slice(0, MAX_RECORDED_REFERRERS);
  return { references: first.map(({ kind, name, field }) => ({ kind, name, field })), referencesTotal: total };
}

function applyMode(verdict: Verdict, { mode }: Settings): Verdict {
  if (verdict.denialStatus === undefined) return verdict;
  if (mode === 'Enforce') return { ...verdict, warnings: [] };
  const { code, config, message, references, referencesTotal } = verdict;
  // A second warning has room for the reason.
  const warnings = [`MCG_WOULD_DENY (${code}): mode Enforce would deny deleting ${config}`, ...verdict.warnings];
  return {
    outcome: 'would-deny',
    code: 'MCG_WOULD_DENY',
    cause: code,
    config,
    message: `MCG_WOULD_DENY: mode ${mode} allows this deletion; mode Enforce would deny it. ${message}`,
    references,
    referencesTotal,
    warnings: mode === 'Warn' && config !== undefined ? warnings.map(formatWarning) : [],
  };
}

function allowConfig(code: Code, config: ConfigName, explanation: string): Verdict {
  return allow(code, config, `${code}: ${formatName(config)} ${explanation}`);
}

function allow(code: Code, config: ConfigName | undefined, message: string): Verdict {
  return { outcome: 'allowed', code, config, message, ...NOTHING_FOUND };
}

/** @returns a denial with its first sentence, which says what needs the config, as the warning of mode Warn */
function deny(
  code: 'MCG_IN_USE' | 'MCG_HELD' | 'MCG_UNVERIFIED' | 'MCG_BAD_REVIEW',
  config: ConfigName | undefined,
  sentences: readonly string[],
  denialStatus: DenialStatus,
): Verdict {
  const [reason = ''] = sentences;
  return {
    outcome: 'denied',
    code,
    config,
    message: formatDenial(code, sentences),
    denialStatus,
    ...NOTHING_FOUND,
    warnings: [reason.replace(/\.$/, '')],
  };
}

/** `CODE: sentences`, and where the code is explained. */
function formatDenial(code: Code, sentences: readonly string[]): string {
  return `${code}: ${sentences.join(' ')} ${formatHelpNote(code)}`;
}

/** A disconnected cluster cannot reach the page, so the note also names the command that prints it. */
export function formatHelpNote(code: Code): string {
  return `Run machineconfig-guard explain ${code}, or see ${DOCS_BASE}/codes.md#${code.toLowerCase()}`;
}

/** Explains why a mode that would allow the deletion does not apply. */
function explainOutdatedMode({ outdatedMode }: Settings): string[] {
  if (outdatedMode === undefined || outdatedMode === 'Enforce') return [];
  return [`The mode ${outdatedMode} cannot be read at present, so Enforce applies.`];
}
