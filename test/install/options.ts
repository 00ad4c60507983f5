import { createAuthority } from '../../src/certificates/authority.ts';
import type { InstallationOptions } from '../../src/install/installation.ts';

const NOW = new Date('2026-11-21T12:00:00Z');
const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;

/** What most tests want; the authority costs a key, so it is made once. */
export const PLAIN: InstallationOptions = {
  image: `registry.example.com/ops/machineconfig-guard@${DIGEST}`,
  profile: 'fail-closed',
  authority: await createAuthority({ days: 3650, now: NOW }),
  mode: undefined,
  singleNode: false,
  hostNetwork: false,
  kubernetesVersion: { major: 1, minor: 33 },
};

/** Every combination of what changes the set. */
export function everyInstallation(): InstallationOptions[] {
  const flags = [false, true];
  return flags.flatMap((singleNode) =>
    flags.flatMap((hostNetwork) =>
      [PLAIN.authority, undefined].flatMap((authority) =>
        (['fail-closed', 'fail-open-with-floor'] as const).flatMap((profile) =>
          ([undefined, 'Disabled'] as const).map((mode) => ({
            ...PLAIN,
            singleNode,
            hostNetwork,
            authority,
            profile,
            mode,
          })),
        ),
      ),
    ),
  );
}
