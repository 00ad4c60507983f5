import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import { ARCHITECTURES } from './executables.ts';
import { REPOSITORY_URL } from './release-notes.ts';

/** Krew requires the name of the plugin, which kubectl runs as `kubectl mcguard`. */
export const KREW_MANIFEST = 'mcguard.yaml';

const DESCRIPTION = `machineconfig-guard is a validating admission webhook for OpenShift. It denies
the deletion of a rendered MachineConfig that is in use. This plugin installs it,
verifies that it protects a cluster, and finds and restores missing MachineConfigs:

  kubectl mcguard check
  kubectl mcguard who-uses
`;

/**
 * Describes the plugin for Krew, with the checksums of the archives in the directory
 * (https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest).
 */
export async function formatKrewManifest(directory: string, version: string): Promise<string> {
  const platforms = ARCHITECTURES.map(async ({ name, archive }) => {
    const content = await readFile(path.join(directory, archive));
    return {
      selector: { matchLabels: { os: 'linux', arch: name } },
      uri: `${REPOSITORY_URL}/releases/download/v${version}/${archive}`,
      sha256: createHash('sha256').update(content).digest('hex'),
      bin: 'machineconfig-guard',
    };
  });
  const manifest = {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: path.parse(KREW_MANIFEST).name },
    spec: {
      version: `v${version}`,
      homepage: REPOSITORY_URL,
      shortDescription: 'Find and restore missing rendered MachineConfigs',
      description: DESCRIPTION,
      platforms: await Promise.all(platforms),
    },
  };
  return stringify(manifest, { lineWidth: 0, blockQuote: 'literal' });
}
