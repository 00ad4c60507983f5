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

/** Each option with the value that is not the default. */
const CHOICES: readonly Partial<InstallationOptions>[] = [
  { singleNode: true },
  { hostNetwork: true },
  { machineconfigAccess: false },
  { openNetwork: true },
  { authority: undefined },
  { profile: 'fail-open-with-floor' },
  { mode: 'Disabled' },
];

/** Any two columns contain all four combinations (the orthogonal array L8). */
const ROWS = ['0000000', '1010101', '0110011', '1100110', '0001111', '1011010', '0111100', '1101001'];

/** Sets of a guard, in which any two options have all combinations of their values. */
export const ALL_OPTIONS: readonly InstallationOptions[] = [
  ...ROWS.map((row): InstallationOptions => {
    return Object.assign(
      { ...DEFAULT_OPTIONS },
      ...CHOICES.filter((_, at) => row[at] === '1'),
    ) as typeof DEFAULT_OPTIONS;
  }),
  { ...DEFAULT_OPTIONS, kubernetesVersion: 27 },
];

export const OTHER_SETS: readonly InstallationOptions[] = PROFILES.filter((profile) => !isGuardProfile(profile)).map(
  (profile) => ({ profile, kubernetesVersion: 30 }),
);
