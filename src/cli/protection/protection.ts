import type { Advice } from '../../client/output/advice.ts';
import type { DryRun } from './dry-run-deletion.ts';
import type { Evidence } from './evidence.ts';
import { findFloor, findGuard, findOther, INSTALL_ADVICE } from './findings.ts';

/**
 * PROTECTED: configs in use cannot be deleted, and others can. BLOCKED: configs in use cannot be deleted, but the
 * denial has another cause, which denies every deletion of a rendered config. EXPOSED: configs in use can be deleted.
 * UNKNOWN: the evidence or the dry run could not tell.
 */
export type ProtectionState = 'PROTECTED' | 'BLOCKED' | 'EXPOSED' | 'UNKNOWN';

/** What protects now, and what does not work. Part of the JSON of `verify` and `status`. */
export interface Protection {
  readonly state: ProtectionState;
  /** Whether the state is PROTECTED. */
  readonly protected: boolean;
  /** `other`: another webhook or policy, such as one of Kyverno or Gatekeeper. */
  readonly by: 'guard' | 'floor' | 'other' | null;
  readonly explanation: string;
  /** What is installed and does not work, although the state can be PROTECTED. A clause. */
  readonly failing: string | null;
  readonly advice: Advice | null;
  /** How to delete a config while the state is BLOCKED. */
  readonly wayOut: Advice | null;
}

/** Whether everything that is installed works, and protects. */
export function isComplete({ protected: isProtected, failing }: Pick<Protection, 'protected' | 'failing'>): boolean {
  return isProtected && failing === null;
}

/** Without an explanation. */
export const UNKNOWN = {
  state: 'UNKNOWN',
  protected: false,
  by: null,
  failing: null,
  advice: null,
  wayOut: null,
} as const;

const FLOOR_LIMITS = 'The policies can miss a new reference and do not check MachineOSBuilds';

/** Derives the state from everything that is known. A dry run counts more than the objects of the cluster. */
export function deriveProtection(evidence: Evidence, dryRun?: DryRun): Protection {
  const guard = findGuard(evidence, dryRun);
  const floor = findFloor(evidence, dryRun);
  const other = dryRun && findOther(evidence, dryRun);
  const { reason, advice } = guard;
  const isGuardAbsent = advice === INSTALL_ADVICE;
  const toProtection = (by: Protection['by'], explanation: string, failing: string | null = null): Protection => {
    return { ...UNKNOWN, state: 'PROTECTED', protected: true, by, explanation, failing, advice };
  };
  const blocker = [guard, floor].find((finding) => finding?.effect === 'blocks');
  if (blocker !== undefined) {
    const explanation = `every rendered-config deletion is denied because ${blocker.reason}. Configs in use are safe`;
    const { wayOut = null } = blocker;
    return { ...UNKNOWN, state: 'BLOCKED', explanation, failing: blocker.reason, advice: blocker.advice, wayOut };
  }
  if (other?.effect === 'unknown') return { ...UNKNOWN, explanation: other.reason, advice: other.advice };
  if (guard.effect === 'denies' && floor?.isSeen !== true) return toProtection('guard', reason);
  if (floor?.effect === 'denies') {
    if (guard.effect === 'denies')
      return toProtection('floor', `${floor.reason}, before the API server calls the guard`);
    const protection = toProtection('floor', `only ${floor.reason}: ${reason}. ${FLOOR_LIMITS}`);
    // Without the guard, the policies are what the administrator has chosen.
    return isGuardAbsent ? { ...protection, advice: null } : { ...protection, failing: reason };
  }
  if (other?.effect === 'denies')
    return toProtection('other', `only ${other.reason}: ${reason}`, isGuardAbsent ? null : reason);
  if (guard.effect === 'unknown') return { ...UNKNOWN, explanation: reason, failing: reason, advice };
  if (floor?.effect === 'unknown') return { ...UNKNOWN, explanation: `${reason}, and ${floor.reason}`, advice };
  const reasons = floor === undefined ? reason : `${reason}; ${floor.reason}`;
  return {
    ...UNKNOWN,
    state: 'EXPOSED',
    explanation: `a config in use can be deleted: ${reasons}`,
    failing: isGuardAbsent ? null : reason,
    advice: isGuardAbsent ? (floor?.advice ?? advice) : advice,
  };
}
