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
const RELEASES: readonly Release[] = [
  { kubernetes: '1.37.2', openshift: '4.20' },
  NEWEST,
  { kubernetes: '1.31.0', openshift: '4.18' },
  { kubernetes: '1.27.4', openshift: '4.18' },
];

export function minorOf(kubernetes: string): number {
  return Number(kubernetes.split('.')[1]);
}

/** The release with this version, or the newest one that CI runs. */
export function selectRelease(flag: string, version = NEWEST.kubernetes): Release {
  return selectVersion(flag, version, RELEASES, 'kubernetes');
}

/**
 * The release whose field has this version.
 *
 * @param flag the flag that the version comes from, for the error message
 * @throws UsageError if there is no such release
 */
export function selectVersion<Field extends string, Known extends Readonly<Record<Field, string>>>(
  flag: string,
  version: string,
  releases: readonly Known[],
  field: Field,
): Known {
  const release = releases.find((candidate) => candidate[field] === version);
  if (release !== undefined) return release;
  const known = releases.map((candidate) => candidate[field]).join(' or ');
  throw new UsageError(`${flag} ${version} is unknown: it can be ${known}.`);
}
