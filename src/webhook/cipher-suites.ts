/** OpenSSL and IANA give them the same names. */
const TLS_1_3_SUITES = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

/** OpenSSL's names, which OpenShift uses, and IANA's, which the flags of Kubernetes use. */
const TLS_1_2_SUITES = [
  ['ECDHE-ECDSA-AES128-GCM-SHA256', 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256'],
  ['ECDHE-RSA-AES128-GCM-SHA256', 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'],
  ['ECDHE-ECDSA-AES256-GCM-SHA384', 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384'],
  ['ECDHE-RSA-AES256-GCM-SHA384', 'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384'],
  ['ECDHE-ECDSA-CHACHA20-POLY1305', 'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256'],
  ['ECDHE-RSA-CHACHA20-POLY1305', 'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256'],
] as const;

/**
 * OpenShift's Intermediate profile (openshift/api, config/v1/types_tlssecurityprofile.go of May 2026, after Mozilla's
 * guidelines 5.8). All its suites have forward secrecy and authenticated encryption.
 */
export const INTERMEDIATE_SUITES: readonly string[] = [...TLS_1_3_SUITES, ...TLS_1_2_SUITES.map(([name]) => name)];
export const INTERMEDIATE_CIPHERS = toOpenSslList(INTERMEDIATE_SUITES);

/** Converts a name of IANA. Returns other names unchanged. */
export function toOpenSslName(name: string): string {
  return TLS_1_2_SUITES.find((suite) => suite.some((known) => known === name))?.[0] ?? name;
}

/** TLS 1.3 always has all its suites, as in Go and in openshift/api. */
export function toOpenSslList(suites: readonly string[]): string {
  return [...TLS_1_3_SUITES, ...suites.filter((suite) => !TLS_1_3_SUITES.includes(suite))].join(':');
}

/**
 * Converts names of OpenSSL or IANA to OpenSSL's list.
 *
 * @throws RangeError with a sentence if a suite is not in the Intermediate profile
 */
export function toOpenSslCiphers(names: readonly string[]): string {
  const suites = names.map((name) => {
    const suite = toOpenSslName(name);
    if (INTERMEDIATE_SUITES.includes(suite)) return suite;
    const example = "use names of OpenShift's Intermediate profile, such as ECDHE-RSA-AES128-GCM-SHA256";
    throw new RangeError(`The cipher suite ${JSON.stringify(name)} is unknown or insecure; ${example}.`);
  });
  return toOpenSslList(suites);
}
