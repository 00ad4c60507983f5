import { createAuthority } from '../../src/certificates/authority.ts';
import type { InstallationOptions } from '../../src/install/installation.ts';
import { isGuardProfile, PROFILES } from '../../src/install/profiles.ts';

const NOW = new Date('2026-11-21T12:00:00Z');
const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;
const AUTHORITY = await createAuthority({ days: 3650, now: NOW });

export const DEFAULT_OPTIONS = {
  image: `registry.example.com/ops/machineconfig-guard@${DIGEST}`,
  profile: 'fail-closed',
  authority: AUTHORITY,
  kubernetesVersion: 33,
} satisfies InstallationOptions;

const CHANGES: Partial<InstallationOptions>[][] = [
  [{ singleNode: false }, { singleNode: true }],
  [{ hostNetwork: false }, { hostNetwork: true }],
  [{ machineconfigAccess: true }, { machineconfigAccess: false }],
  [{ openNetwork: false }, { openNetwork: true }],
  [{ authority: AUTHORITY }, { authority: undefined }],
  [{ profile: 'fail-closed' }, { profile: 'fail-open-with-floor' }],
  [{ mode: undefined }, { mode: 'Disabled' }],
];

const COMBINATIONS = CHANGES.reduce<InstallationOptions[]>(
  (sets, changes) => sets.flatMap((options) => changes.map((change) => ({ ...options, ...change }))),
  [DEFAULT_OPTIONS],
);

/** All combinations of the options that change the set of a guard. */
export const ALL_OPTIONS: readonly InstallationOptions[] = [
  ...COMBINATIONS,
  { ...DEFAULT_OPTIONS, kubernetesVersion: 27 },
];

/** The sets without a guard. */
export const OTHER_SETS: readonly InstallationOptions[] = PROFILES.filter((profile) => !isGuardProfile(profile)).map(
  (profile) => ({ profile, kubernetesVersion: 30 }),
);
