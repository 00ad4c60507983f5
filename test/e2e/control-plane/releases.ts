import { fileURLToPath } from 'node:url';

import type { ModuleFiles } from './module-files.ts';

/** A Kubernetes release that the suite runs on, and the OpenShift release whose CRDs belong to it. */
export interface Release {
  readonly kubernetes: string;
  readonly openshift: string;
}

/**
 * Newest first. Other patch releases than `.0` cannot be built: the module proxy lacks some of their staging modules.
 */
export const RELEASES: readonly [Release, ...Release[]] = [
  { kubernetes: '1.33.0', openshift: '4.20' },
  { kubernetes: '1.31.0', openshift: '4.18' },
];

/** For each OpenShift release the commit of openshift/api and the CRDs that a cluster with default features has. */
const CRDS: Readonly<Record<string, { readonly version: string; readonly names: readonly string[] }>> = {
  '4.20': {
    version: 'v0.0.0-20250811150514-cc869c87a7f0',
    names: [
      'machineconfignodes-Default',
      'machineconfigpools',
      'machineconfigs',
      'machineosbuilds',
      'machineosconfigs',
    ],
  },
  '4.18': {
    version: 'v0.0.0-20250102185430-d6d8306a24ec',
    // At this commit, builds exist as a technology preview only. The released 4.18 has them by default.
    names: [
      'machineconfigpools-Default',
      'machineconfigs',
      'machineosbuilds-TechPreviewNoUpgrade',
      'machineosconfigs-TechPreviewNoUpgrade',
    ],
  },
};

/** The release for any API server: it gets the CRDs of the nearest OpenShift release that is not newer. */
export function releaseOf(kubernetes: string): Release {
  const nearest =
    RELEASES.find((release) => minorOf(kubernetes) >= minorOf(release.kubernetes)) ?? RELEASES.at(-1);
  return { kubernetes, openshift: nearest?.openshift ?? RELEASES[0].openshift };
}

/** The MachineConfig CRDs of an OpenShift release, in the Go module of its API. */
export function openshiftCrds({ openshift }: Release): ModuleFiles {
  const { version, names } = CRDS[openshift] ?? { version: '', names: [] };
  const folder = 'machineconfiguration/v1/zz_generated.crd-manifests';
  return {
    module: `github.com/openshift/api@${version}`,
    files: names.map((name) => `${folder}/0000_80_machine-config_01_${name}.crd.yaml`),
  };
}

/** The folder with the go.mod and go.sum that build the binaries of a release. */
export function moduleDirectory(release: Release): string {
  return fileURLToPath(new URL(`./${release.kubernetes}`, import.meta.url));
}

function minorOf(kubernetes: string): number {
  return Number(kubernetes.split('.')[1]);
}
