/** The guard, by what the API server does while it does not answer. */
const GUARD_PROFILES = ['fail-closed', 'fail-open-with-floor'] as const;

/** Objects that need no guard, by their directory. */
export const DIRECTORY_BY_PROFILE = {
  monitoring: 'components/monitoring',
  'override-policy': 'components/override-policy',
  'platform-alert': 'components/platform-alert',
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

/** The flags that an object was rendered with, as words. Empty for an object of another tool. */
export function formatFlagLabels(labels: Readonly<Record<string, string>> = {}): string {
  const flags = Object.entries(labels).filter(([label]) => label.startsWith(FLAG_LABEL_PREFIX));
  return flags
    .map(([label, value]) => label.replace(FLAG_LABEL_PREFIX, '--') + (value === 'true' ? '' : `=${value}`))
    .sort()
    .join(' ');
}

/** Prometheus trusts the issuer of the guard's certificates. */
export function getDirectory(profile: keyof typeof DIRECTORY_BY_PROFILE, tls = 'service-ca'): string {
  const directory = DIRECTORY_BY_PROFILE[profile];
  return profile === 'monitoring' && tls !== 'service-ca' ? `${directory}-${tls}` : directory;
}

/** Whether the profile has kinds that a booting cluster lacks, so that they would fail its install. */
export function needsRunningCluster(profile: Profile): boolean {
  return profile === 'monitoring' || profile === 'platform-alert';
}

export function isGuardProfile(profile: Profile): profile is GuardProfile {
  return !(profile in DIRECTORY_BY_PROFILE);
}
