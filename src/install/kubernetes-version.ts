/** A minor version of Kubernetes. */
export interface KubernetesVersion {
  readonly major: number;
  readonly minor: number;
}

/** The oldest that is supported: that of OpenShift 4.14. */
const OLDEST: KubernetesVersion = { major: 1, minor: 27 };

/** `flowcontrol.apiserver.k8s.io/v1` is served from here on. */
export const FLOW_SCHEMA: KubernetesVersion = { major: 1, minor: 29 };

/** `admissionregistration.k8s.io/v1` has ValidatingAdmissionPolicy from here on. */
export const ADMISSION_POLICY: KubernetesVersion = { major: 1, minor: 30 };

/** Reads `1.31`, `v1.31.14` and what `oc version` prints. Throws a RangeError with a sentence. */
export function parseKubernetesVersion(text: string): KubernetesVersion {
  const { major, minor } =
    /^v?(?<major>\d{1,3})\.(?<minor>\d{1,3})(?:\.\d{1,4}(?:[-+][-+.0-9A-Za-z]{1,80})?)?$/.exec(text)?.groups ?? {};
  if (major === undefined || minor === undefined) throw new RangeError('It must be a version such as 1.31.');
  const version = { major: Number(major), minor: Number(minor) };
  if (version.major >= 4) {
    throw new RangeError(
      'That is a version of OpenShift; the one of Kubernetes is wanted (4.14 has 1.27, 4.18 has 1.31, 4.20 has 1.33).',
    );
  }
  if (!isAtLeast(version, OLDEST)) throw new RangeError('The oldest that is supported is 1.27 (OpenShift 4.14).');
  return version;
}

/** Whether a version is that one or newer; an unknown one is not. */
export function isAtLeast(version: KubernetesVersion | undefined, { major, minor }: KubernetesVersion): boolean {
  return version !== undefined && (version.major > major || (version.major === major && version.minor >= minor));
}
