import { UsageError } from '../../support/usage.ts';

/** A Kubernetes release that the suite runs on, and the OpenShift release whose CRDs belong to it. */
export interface Release {
  readonly kubernetes: string;
  readonly openshift: string;
}

/** The release that CI runs for each change. */
export const NEWEST: Release = { kubernetes: '1.33.0', openshift: '4.20' };

/**
 * All releases, newest first. The module proxy lacks some staging modules of patch releases other than `.0`.
 */
const RELEASES: Readonly<Record<string, Release>> = {
  '1.37.2': { kubernetes: '1.37.2', openshift: '4.20' },
  [NEWEST.kubernetes]: NEWEST,
  '1.31.0': { kubernetes: '1.31.0', openshift: '4.18' },
  '1.27.4': { kubernetes: '1.27.4', openshift: '4.18' },
};

export function minorOf(kubernetes: string): number {
  return Number(kubernetes.split('.')[1]);
}

/** The release with this version, or the newest one that CI runs. */
export function selectRelease(flag: string, version = NEWEST.kubernetes): Release {
  return selectVersion(flag, version, RELEASES);
}

/**
 * The release of a version.
 * @param flag the flag that the version comes from, for the error message
 * @throws UsageError if there is no such release
 */
export function selectVersion<Known>(flag: string, version: string, releases: Readonly<Record<string, Known>>): Known {
  const release = releases[version];
  if (release !== undefined) return release;
  throw new UsageError(`${flag} ${version} is unknown: it can be ${Object.keys(releases).join(' or ')}.`);
}
