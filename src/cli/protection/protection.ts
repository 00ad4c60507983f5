import { type Advice, advise } from '../../client/output/advice.ts';

/**
 * PROTECTED: configs in use cannot be deleted, and others can. BLOCKED: configs in use cannot be deleted, but the
 * denial has another cause, which denies every deletion of a rendered config. EXPOSED: configs in use can be deleted.
 * UNKNOWN: the evidence or the test could not tell.
 */
export type ProtectionState = 'PROTECTED' | 'BLOCKED' | 'EXPOSED' | 'UNKNOWN';

/** `other`: another webhook or policy, such as one of Kyverno or Gatekeeper. */
type Denier = 'guard' | 'floor' | 'other';

/** Part of the JSON of `verify` and `status`. */
export interface Protection {
  readonly state: ProtectionState;
  /** Whether the state is PROTECTED. */
  readonly protected: boolean;
  readonly by: Denier | null;
  readonly explanation: string;
  readonly advice: Advice | null;
}

/** What the guard or the policy floor does with the deletion of a config in use: predicted, or seen in a test. */
export interface Finding {
  /** `blocks`: it denies, but for a cause that denies every deletion of a rendered config. */
  readonly effect: 'denies' | 'blocks' | 'allows' | 'unknown';
  /** A clause. */
  readonly reason: string;
  readonly advice: Advice | null;
}

export const INSTALL_ADVICE = advise('install the guard (docs/install.md)');

export function toFinding(effect: Finding['effect'], reason: string, advice: Advice | null = null): Finding {
  return { effect, reason, advice };
}

/**
 * The state of a cluster, for `verify` and `status`.
 *
 * @param floor undefined if it is not installed
 */
export function deriveProtection(guard: Finding, floor?: Finding): Protection {
  const { effect, reason, advice } = guard;
  if (effect === 'denies') return toProtection('PROTECTED', 'guard', reason, advice);
  if (effect === 'unknown') return toProtection('UNKNOWN', null, reason, advice);
  if (effect === 'blocks') {
    const explanation = `every rendered-config deletion is denied because ${reason}. Configs in use are safe`;
    return toProtection('BLOCKED', null, explanation, advice);
  }
  if (floor?.effect === 'denies') {
    const limits = 'The policies can miss a new reference and do not check MachineOSBuilds';
    return toProtection('PROTECTED', 'floor', `only ${floor.reason}: ${reason}. ${limits}`, advice);
  }
  if (floor?.effect === 'unknown') return toProtection('UNKNOWN', null, `${reason}, and ${floor.reason}`, advice);
  const reasons = floor === undefined ? reason : `${reason}; ${floor.reason}`;
  // Without the guard, the policies are what the administrator has chosen.
  const repair = advice === INSTALL_ADVICE ? (floor?.advice ?? advice) : advice;
  return toProtection('EXPOSED', null, `a config in use can be deleted: ${reasons}`, repair);
}

export function toProtection(state: ProtectionState, by: Denier | null, explanation: string, advice: Advice | null) {
  return { state, protected: state === 'PROTECTED', by, explanation, advice };
}
