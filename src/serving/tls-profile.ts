import { getFips } from 'node:crypto';
import { createSecureContext, getCiphers, type SecureVersion } from 'node:tls';
import { countNoun, joinFirst, toPrintableLine } from '../common/printable-text.ts';
import type { Replaceable } from '../common/replaceable.ts';
import type { ApiObject } from '../kube/api-object.ts';

export interface TlsParameters {
  readonly minVersion: SecureVersion;
  readonly ciphers: string;
  /** OpenSSL's list of groups for the key exchange, or `auto` for its own. */
  readonly groups: string;
}

export type TlsPolicy = Pick<Replaceable<TlsParameters>, 'current' | 'onChange'>;

/** The `tlsSecurityProfile` of the cluster, as far as the guard supports it. */
export interface TlsProfile extends TlsParameters {
  readonly type: 'Old' | 'Intermediate' | 'Modern' | 'Custom';
  /** The cipher suites and groups that this Node.js does not support. */
  readonly unsupported: readonly string[];
}

/** Nothing of the cluster's profile can be applied. The message says why. */
export class UnusableTlsProfile extends Error {}

/** OpenSSL and IANA give them the same names. */
const TLS_1_3_SUITES = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

/** All have forward secrecy and authenticated encryption. OpenShift uses the names of OpenSSL. */
const INTERMEDIATE_SUITES = [
  ...TLS_1_3_SUITES,
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
];

/**
 * The tables of openshift/api, config/v1/types_tlssecurityprofile.go of May 2026, after Mozilla's guidelines 5.8. Old
 * has the suites of Intermediate and these. All built-in profiles have the same groups.
 */
const OLD_SUITES = (
  'ECDHE-ECDSA-AES128-SHA256 ECDHE-RSA-AES128-SHA256 ECDHE-ECDSA-AES128-SHA ECDHE-RSA-AES128-SHA ' +
  'ECDHE-ECDSA-AES256-SHA384 ECDHE-RSA-AES256-SHA384 ECDHE-ECDSA-AES256-SHA ECDHE-RSA-AES256-SHA ' +
  'AES128-GCM-SHA256 AES256-GCM-SHA384 AES128-SHA256 AES256-SHA256 AES128-SHA AES256-SHA DES-CBC3-SHA'
).split(' ');
const GROUPS = ['X25519MLKEM768', 'X25519', 'secp256r1', 'secp384r1'];

/** Neither a list nor `auto`, which is a value of Node.js. */
const GROUP_NAME = /^(?!auto$)\w+$/;

const MAX_LISTED_NAMES = 10;
const MAX_NAME_LENGTH = 64;

export const INTERMEDIATE = createProfile('Intermediate', 'TLSv1.2', INTERMEDIATE_SUITES, GROUPS);

/**
 * Reads the profile of an `apiservers.config.openshift.io`, or throws UnusableTlsProfile. TLS 1.2 is the minimum of
 * every profile: OpenSSL 3 negotiates older versions only at security level 0, which would also accept weak client
 * certificates. The clients, API server and Prometheus, speak TLS 1.3.
 */
export function parseTlsProfile({ spec }: ApiObject): TlsProfile {
  type Stored = { readonly type?: unknown; readonly custom?: Readonly<Record<string, unknown>> | null } | null;
  const { type = '', custom } = (spec as { readonly tlsSecurityProfile?: Stored } | null)?.tlsSecurityProfile ?? {};
  if (type === '' || type === 'Intermediate') return INTERMEDIATE;
  if (type === 'Old') return createProfile('Old', 'TLSv1.2', [...INTERMEDIATE_SUITES, ...OLD_SUITES], GROUPS);
  if (type === 'Modern') return createProfile('Modern', 'TLSv1.3', [], GROUPS);
  if (type !== 'Custom') throw new UnusableTlsProfile(`the TLS profile type ${quote(type)} is unknown`);
  const { ciphers, groups, minTLSVersion } = custom ?? {};
  const minVersion = minTLSVersion === 'VersionTLS13' ? 'TLSv1.3' : 'TLSv1.2';
  const suites = toNames(ciphers);
  return createProfile('Custom', minVersion, suites.length === 0 ? INTERMEDIATE_SUITES : suites, toNames(groups));
}

export interface FollowedTlsProfile {
  readonly profile: TlsProfile;
  /** Why it may not be the profile of the cluster: reason and message of a condition. */
  readonly problem?: { readonly reason: string; readonly message: string };
}

/** `TLS 1.2 and later with 11 cipher suites`, and which names were left out. */
export function describeTlsProfile({ minVersion, ciphers, unsupported }: TlsProfile): string {
  const version = `TLS ${minVersion.slice('TLSv'.length)}${minVersion === 'TLSv1.3' ? '' : ' and later'}`;
  const suites = countNoun(ciphers.split(':').length, 'cipher suite');
  const omitted =
    unsupported.length === 0
      ? ''
      : `, without ${joinFirst(unsupported.map(quote), MAX_LISTED_NAMES)}, which Node.js does not support`;
  return `${version} with ${suites}${omitted}`;
}

/** @throws UnusableTlsProfile if it names no suite or no group that is supported */
function createProfile(
  type: TlsProfile['type'],
  minVersion: SecureVersion,
  suites: readonly string[],
  groups: readonly string[],
): TlsProfile {
  // Node.js lists its cipher suites in lower case, but OpenSSL wants the case of its names.
  const supported = new Set(getCiphers().map((suite) => suite.toUpperCase()));
  const supportedSuites = suites.filter((suite) => supported.has(suite));
  const supportedGroups = toGroupList(groups);
  const unusable = supportedSuites.length === 0 && suites.length > 0 ? 'cipher suite' : 'group';
  if (unusable === 'cipher suite' || supportedGroups === '')
    throw new UnusableTlsProfile(`the TLS profile ${type} names no ${unusable} that Node.js supports`);
  const unsupportedSuites = suites.filter((suite) => !supportedSuites.includes(suite));
  const unsupportedGroups = groups.filter((group) => !supportedGroups.split(':').includes(group));
  return {
    type,
    minVersion,
    // TLS 1.3 always has all its suites, as in Go and in openshift/api.
    ciphers: [...new Set([...TLS_1_3_SUITES, ...supportedSuites])].join(':'),
    groups: supportedGroups,
    // The lists of the other profiles are ours, so what this Node.js lacks is nothing to look at.
    unsupported: type === 'Custom' ? [...unsupportedSuites, ...unsupportedGroups] : [],
  };
}

/**
 * OpenSSL's list of the groups that are supported, or of its own choice if none is named. FIPS approves no group with
 * X25519, although OpenSSL's provider can accept X25519MLKEM768 (openshift/api).
 */
export function toGroupList(groups: readonly string[], isFips = getFips() === 1): string {
  if (groups.length === 0) return isFips ? 'secp256r1:secp384r1:secp521r1' : 'auto';
  // OpenSSL rejects a list that has one twice.
  const approved = [...new Set(groups)].filter((group) => !isFips || !group.startsWith('X25519'));
  return approved.filter((group) => GROUP_NAME.test(group) && isGroupSupported(group)).join(':');
}

function isGroupSupported(group: string): boolean {
  try {
    createSecureContext({ ecdhCurve: group });
    return true;
  } catch {
    return false;
  }
}

function toNames(list: unknown): string[] {
  return Array.isArray(list) ? list.map(String) : [];
}

function quote(value: unknown): string {
  return toPrintableLine(JSON.stringify(value) ?? 'undefined', MAX_NAME_LENGTH);
}
