import { UsageError } from '../../support/usage.ts';
import type { ModuleFiles } from './module-files.ts';

/** A Kubernetes release that the suite runs on, and the OpenShift release whose CRDs belong to it. */
export interface Release {
  readonly kubernetes: string;
  readonly openshift: string;
  /** The MachineConfig CRDs that a cluster with default features has. */
  readonly crds: ModuleFiles;
}

/** The release that CI runs for each change. */
export const NEWEST: Release = {
  kubernetes: '1.33.0',
  openshift: '4.20',
  crds: openshiftCrds('v0.0.0-20250811150514-cc869c87a7f0', [
    'machineconfignodes-Default',
    'machineconfigpools',
    'machineconfigs',
    'machineosbuilds',
    'machineosconfigs',
  ]),
};
const OLDER: Release = {
  kubernetes: '1.31.0',
  openshift: '4.18',
  // At this commit, builds exist as a technology preview only. The released 4.18 has them by default.
  crds: openshiftCrds('v0.0.0-20250102185430-d6d8306a24ec', [
    'machineconfigpools-Default',
    'machineconfigs',
    'machineosbuilds-TechPreviewNoUpgrade',
    'machineosconfigs-TechPreviewNoUpgrade',
  ]),
};

/**
 * All releases, newest first. The module proxy lacks some staging modules of patch releases other than `.0`.
 */
const RELEASES: readonly Release[] = [
  { ...NEWEST, kubernetes: '1.37.2' },
  NEWEST,
  OLDER,
  { ...OLDER, kubernetes: '1.27.4' },
];

/** Files of a commit of openshift/api. */
function openshiftCrds(version: string, names: readonly string[]): ModuleFiles {
  const prefix = 'machineconfiguration/v1/zz_generated.crd-manifests/0000_80_machine-config_01_';
  const files = names.map((name) => `${prefix}${name}.crd.yaml`);
  return { module: `github.com/openshift/api@${version}`, files };
}

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
