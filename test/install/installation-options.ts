import { createAuthority } from '../../src/certificates/authority.ts';
import type { InstallationOptions } from '../../src/install/installation.ts';

const NOW = new Date('2026-11-21T12:00:00Z');
const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;
const AUTHORITY = await createAuthority({ days: 3650, now: NOW });

export const DEFAULT_OPTIONS = {
  image: `registry.example.com/ops/machineconfig-guard@${DIGEST}`,
  profile: 'fail-closed',
  authority: AUTHORITY,
  kubernetesVersion: { major: 1, minor: 33 },
} satisfies InstallationOptions;

/** All combinations of the options that change the set. */
export const ALL_OPTIONS = combine([
  [{ singleNode: false }, { singleNode: true }],
  [{ hostNetwork: false }, { hostNetwork: true }],
  [{ authority: AUTHORITY }, { authority: undefined }],
  [{ profile: 'fail-closed' }, { profile: 'fail-open-with-floor' }],
  [{ mode: undefined }, { mode: 'Disabled' }],
]);

function combine(dimensions: readonly (readonly Partial<InstallationOptions>[])[]): InstallationOptions[] {
  const [first, ...others] = dimensions;
  if (first === undefined) return [DEFAULT_OPTIONS];
  return combine(others).flatMap((options) => first.map((changes) => ({ ...options, ...changes })));
}
