export interface KubernetesVersion {
  readonly major: number;
  readonly minor: number;
}

/** The oldest supported version: OpenShift 4.14. */
const OLDEST: KubernetesVersion = { major: 1, minor: 27 };
/** The first version that evaluates match conditions of webhooks. */
export const MATCH_CONDITIONS: KubernetesVersion = { major: 1, minor: 28 };
/** The first version with `flowcontrol.apiserver.k8s.io/v1`. */
export const FLOW_SCHEMA: KubernetesVersion = { major: 1, minor: 29 };
/** The first version whose `admissionregistration.k8s.io/v1` has ValidatingAdmissionPolicy. */
export const ADMISSION_POLICY: KubernetesVersion = { major: 1, minor: 30 };

const VERSION = /^v?(?<major>\d{1,3})\.(?<minor>\d{1,3})(?:\.\d{1,4}(?:[-+][-+.0-9A-Za-z]{1,80})?)?$/;

/** @throws RangeError with a sentence */
export function parseKubernetesVersion(text: string): KubernetesVersion {
  const { major, minor } = VERSION.exec(text)?.groups ?? {};
  if (major === undefined || minor === undefined) throw new RangeError('Must be a version, such as 1.31.');
  const version = { major: Number(major), minor: Number(minor) };
  if (version.major >= 4) {
    const examples = '4.14 has 1.27, 4.18 has 1.31, 4.20 has 1.33';
    throw new RangeError(`Must be the Kubernetes version, not the OpenShift version (${examples}).`);
  }
  if (!isAtLeast(version, OLDEST))
    throw new RangeError('The oldest supported version is 1.27 (OpenShift 4.14).');
  return version;
}

export function isAtLeast(
  version: KubernetesVersion | undefined,
  { major, minor }: KubernetesVersion,
): boolean {
  return (
    version !== undefined && (version.major > major || (version.major === major && version.minor >= minor))
  );
}
