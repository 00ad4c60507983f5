/** The guard, by what the API server does while it does not answer. */
const GUARD_PROFILES = ['fail-closed', 'fail-open-with-floor'] as const;

/** Objects that need no guard, by their directory. */
export const DIRECTORY_BY_PROFILE = {
  'policy-floor': 'overlays/policy-floor',
  'pool-deletion-warning': 'components/pool-deletion-warning',
  'reference-policy': 'components/reference-policy',
  'restore-role': 'overlays/restore-role',
  'verify-role': 'overlays/verify-role',
  'webhook-deletion-reason': 'components/webhook-deletion-reason',
} as const;

type GuardProfile = (typeof GUARD_PROFILES)[number];
export type Profile = GuardProfile | keyof typeof DIRECTORY_BY_PROFILE;

export const PROFILES = [...GUARD_PROFILES, ...Object.keys(DIRECTORY_BY_PROFILE)] as readonly Profile[];

/** The labels of an installation that record the flags of `render`. Components set most of them. */
export const FLAG_LABEL_PREFIX = 'render.machineconfig-guard.io/';

/** Whether the profile includes the guard. */
export function isGuardProfile(profile: Profile): profile is GuardProfile {
  return !(profile in DIRECTORY_BY_PROFILE);
}
