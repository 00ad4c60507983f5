import { fileURLToPath } from 'node:url';

/** A Kubernetes release the suite runs on, and the OpenShift release whose CRDs belong to it. */
export interface Release {
  readonly kubernetes: string;
  readonly openshift: string;
}

/** Newest first. Patch releases other than `.0` lack staging modules on the module proxy, so they cannot be built. */
export const RELEASES: readonly [Release, ...Release[]] = [
  { kubernetes: '1.33.0', openshift: '4.20' },
  { kubernetes: '1.31.0', openshift: '4.18' },
];

/** The release of an API server found elsewhere: the CRDs of the nearest OpenShift release that is not newer. */
export function releaseOf(kubernetes: string): Release {
  const known = RELEASES.find((release) => minorOf(kubernetes) >= minorOf(release.kubernetes)) ?? RELEASES.at(-1);
  return { kubernetes, openshift: known?.openshift ?? RELEASES[0].openshift };
}

/** The folder with the MachineConfig CRDs of an OpenShift release. */
export function crdDirectory(release: Release): string {
  return fileURLToPath(new URL(`../crds/${release.openshift}`, import.meta.url));
}

/** The folder with the go.mod and go.sum that build a release's binaries. */
export function moduleDirectory(release: Release): string {
  return fileURLToPath(new URL(`./${release.kubernetes}`, import.meta.url));
}

function minorOf(kubernetes: string): number {
  return Number(kubernetes.split('.')[1]);
}
