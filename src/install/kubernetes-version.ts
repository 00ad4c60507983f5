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

/** OpenShift 4.14 has Kubernetes 1.27, 4.15 has 1.28, and so on. */
const KUBERNETES_MINOR_OF_OPENSHIFT_4_0 = 13;
/** OpenShift 5 has at least this version. The manifests do not depend on newer ones. */
const OF_OPENSHIFT_5: KubernetesVersion = { major: 1, minor: 35 };

const VERSION = /^v?(?<major>\d{1,3})\.(?<minor>\d{1,3})(?:\.\d{1,4}(?:[-+][-+.0-9A-Za-z]{1,80})?)?$/;
const TOO_OLD = 'The oldest supported version is Kubernetes 1.27 (OpenShift 4.14).';

/** @throws RangeError with a sentence */
export function parseKubernetesVersion(text: string): KubernetesVersion {
  const { major, minor } = VERSION.exec(text)?.groups ?? {};
  const version = { major: Number(major), minor: Number(minor) };
  if (!isAtLeast(version, OLDEST)) throw new RangeError(TOO_OLD);
  return version;
}

/**
 * Returns the Kubernetes version of an OpenShift version.
 *
 * @throws RangeError with a sentence
 */
export function parseOpenShiftVersion(text: string): KubernetesVersion {
  const { major, minor } = VERSION.exec(text)?.groups ?? {};
  if (!(Number(major) >= 4)) throw new RangeError('Must be a version of OpenShift, such as 4.18.');
  if (Number(major) > 4) return OF_OPENSHIFT_5;
  return parseKubernetesVersion(`1.${Number(minor) + KUBERNETES_MINOR_OF_OPENSHIFT_4_0}`);
}

export function isAtLeast(version: KubernetesVersion | undefined, { major, minor }: KubernetesVersion): boolean {
  return version !== undefined && (version.major > major || (version.major === major && version.minor >= minor));
}
