/* A version of Kubernetes is the number after `1.`, such as 33. OpenShift 4.14 has Kubernetes 1.27, 4.15 has 1.28. */

/** Of OpenShift 4.14, the oldest supported version. */
const OLDEST = 27;
/** The first version that evaluates match conditions of webhooks. */
export const MATCH_CONDITIONS = 28;
/** The first version with `flowcontrol.apiserver.k8s.io/v1`. */
export const FLOW_SCHEMA = 29;
/** The first version whose `admissionregistration.k8s.io/v1` has ValidatingAdmissionPolicy. */
export const ADMISSION_POLICY = 30;
/** OpenShift 5 has at least this version. The manifests do not depend on newer ones. */
const OF_OPENSHIFT_5 = 35;
const OF_OPENSHIFT_4_0 = 13;

const VERSION = /^v?(?<major>\d{1,3})\.(?<minor>\d{1,3})(?:\.\d{1,4}(?:[-+][-+.0-9A-Za-z]{1,80})?)?$/;

/** @throws RangeError with a sentence */
export function parseKubernetesVersion(text: string): number {
  const { major, minor } = VERSION.exec(text)?.groups ?? {};
  return assertSupported(major === '1' ? Number(minor) : 0);
}

/**
 * Returns the Kubernetes version of an OpenShift version.
 * @throws RangeError with a sentence
 */
export function parseOpenShiftVersion(text: string): number {
  const { major, minor } = VERSION.exec(text)?.groups ?? {};
  if (major === '5') return OF_OPENSHIFT_5;
  if (major === '4') return assertSupported(Number(minor) + OF_OPENSHIFT_4_0);
  throw new RangeError('Must be a version of OpenShift from 4.14 to 5, such as 4.18.');
}

function assertSupported(version: number): number {
  if (version >= OLDEST) return version;
  throw new RangeError('The oldest supported version is Kubernetes 1.27 (OpenShift 4.14).');
}
