import { getFips } from 'node:crypto';
import { createSecureContext, getCiphers, type SecureContextOptions, type SecureVersion } from 'node:tls';
import { countNoun, joinFirst, toPrintableLine } from '../common/printable-text.ts';
import type { ApiObject } from '../kube/api-object.ts';
import { INTERMEDIATE_CIPHERS, toOpenSslName, TLS_1_3_SUITES } from './cipher-suites.ts';

/** The parameters of new TLS connections. */
export interface TlsParameters {
  readonly minVersion: SecureVersion;
  /** OpenSSL's list. */
  readonly ciphers: string;
  /** OpenSSL's list of groups for the key exchange, or `auto` for its own. */
  readonly groups: string;
}

/** TLS parameters that can be replaced at any time. */
export interface TlsPolicy {
  current(): TlsParameters;
  /** Calls the listener after each change of {@link current}. The listener must not throw. */
  onChange(listener: () => void): void;
}

/** The `tlsSecurityProfile` of the cluster, as far as the guard supports it. */
export interface TlsProfile extends TlsParameters {
  readonly type: 'Old' | 'Intermediate' | 'Modern' | 'Custom';
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
  /** Cipher suites and groups of a Custom profile that this Node.js does not support. */
  readonly unsupported: readonly string[];
}

/** Nothing of the cluster's profile can be applied. The message says why. */
export class UnusableTlsProfile extends Error {}

/**
 * The tables of openshift/api, config/v1/types_tlssecurityprofile.go of May 2026, after Mozilla's guidelines 5.8. Old
 * has the suites of Intermediate and these. All built-in profiles have the same groups.
 */
const OLD_SUITES = [
  'ECDHE-ECDSA-AES128-SHA256',
  'ECDHE-RSA-AES128-SHA256',
  'ECDHE-ECDSA-AES128-SHA',
  'ECDHE-RSA-AES128-SHA',
  'ECDHE-ECDSA-AES256-SHA384',
  'ECDHE-RSA-AES256-SHA384',
  'ECDHE-ECDSA-AES256-SHA',
  'ECDHE-RSA-AES256-SHA',
  'AES128-GCM-SHA256',
  'AES256-GCM-SHA384',
  'AES128-SHA256',
  'AES256-SHA256',
  'AES128-SHA',
  'AES256-SHA',
  'DES-CBC3-SHA',
];

const GROUPS = ['X25519MLKEM768', 'X25519', 'secp256r1', 'secp384r1'];

/** Without a profile that names groups, OpenSSL chooses. */
export const DEFAULT_GROUPS = 'auto';

export const INTERMEDIATE: TlsProfile = {
  type: 'Intermediate',
  minVersion: 'TLSv1.2',
  ciphers: INTERMEDIATE_CIPHERS,
  groups: GROUPS.filter(isGroupSupported).join(':'),
  unsupported: [],
};

const OLD: TlsProfile = {
  ...INTERMEDIATE,
  type: 'Old',
  ciphers: [INTERMEDIATE_CIPHERS, ...OLD_SUITES.filter(isSupported)].join(':'),
};

const MODERN: TlsProfile = {
  ...INTERMEDIATE,
  type: 'Modern',
  minVersion: 'TLSv1.3',
  ciphers: TLS_1_3_SUITES.join(':'),
};

const MAX_LISTED_NAMES = 10;
const MAX_NAME_LENGTH = 64;

/**
 * Reads the profile of an `apiservers.config.openshift.io`. Without one, Intermediate applies.
 *
 * TLS 1.2 is the minimum of every profile: OpenSSL 3 negotiates older versions only at security level 0, which would
 * also accept weak client certificates. The clients, API server and Prometheus, speak TLS 1.3.
 *
 * @throws UnusableTlsProfile
 */
export function parseTlsProfile({ spec }: ApiObject): TlsProfile {
  const { tlsSecurityProfile } = (spec ?? {}) as { readonly tlsSecurityProfile?: StoredProfile | null };
  const { type = '', custom } = tlsSecurityProfile ?? {};
  switch (type) {
    case '':
    case 'Intermediate':
      return INTERMEDIATE;
    case 'Old':
      return OLD;
    case 'Modern':
      return MODERN;
    case 'Custom':
      return toCustomProfile(custom ?? {});
    default:
      throw new UnusableTlsProfile(`the TLS profile type ${quote(type)} is unknown`);
  }
}

/** The profile that applies, for the status. */
export interface FollowedTlsProfile {
  readonly profile: TlsProfile;
  /** Why it may not be the profile of the cluster: reason and message of a condition. */
  readonly problem?: { readonly reason: string; readonly message: string };
}

/** `TLS 1.2 and later with 11 cipher suites`, and which were left out. */
export function describeTlsProfile({ minVersion, ciphers, unsupported }: TlsProfile): string {
  const version = `TLS ${minVersion.slice('TLSv'.length)}${minVersion === 'TLSv1.3' ? '' : ' and later'}`;
  const suites = countNoun(ciphers.split(':').length, 'cipher suite');
  const omitted =
    unsupported.length === 0
      ? ''
      : `, without ${joinFirst(unsupported.map(quote), MAX_LISTED_NAMES)}, which Node.js does not support`;
  return `${version} with ${suites}${omitted}`;
}

/** For a process whose flags set the parameters, and for one that follows no cluster. */
export function createFixedTlsPolicy(parameters: TlsParameters): TlsPolicy {
  return { current: () => parameters, onChange: () => {} };
}

interface StoredProfile {
  readonly type?: unknown;
  readonly custom?: {
    readonly ciphers?: unknown;
    readonly groups?: unknown;
    readonly minTLSVersion?: unknown;
  } | null;
}

/** As in Go, TLS 1.3 keeps all its suites if the profile names none of them, and an empty list means the default. */
function toCustomProfile({ ciphers, groups, minTLSVersion }: NonNullable<StoredProfile['custom']>): TlsProfile {
  const names = toNames(ciphers);
  const suites = names.map(toOpenSslName).filter(isSupported);
  const groupNames = toNames(groups);
  const supportedGroups = groupNames.filter(isGroupSupported);
  if (names.length > 0 && suites.length === 0)
    throw new UnusableTlsProfile('the TLS profile Custom names no cipher suite that Node.js supports');
  if (groupNames.length > 0 && supportedGroups.length === 0)
    throw new UnusableTlsProfile('the TLS profile Custom names no group that Node.js supports');
  const hasTls13 = suites.some((suite) => TLS_1_3_SUITES.includes(suite));
  return {
    type: 'Custom',
    minVersion: minTLSVersion === 'VersionTLS13' ? 'TLSv1.3' : 'TLSv1.2',
    ciphers: suites.length === 0 ? INTERMEDIATE_CIPHERS : [...(hasTls13 ? [] : TLS_1_3_SUITES), ...suites].join(':'),
    groups: supportedGroups.join(':') || DEFAULT_GROUPS,
    unsupported: [
      ...names.filter((name) => !isSupported(toOpenSslName(name))),
      ...groupNames.filter((name) => !isGroupSupported(name)),
    ],
  };
}

function toNames(list: unknown): string[] {
  return Array.isArray(list) ? list.map(String) : [];
}

/** Node.js lists its cipher suites in lower case, but OpenSSL wants the case of its names. */
function isSupported(suite: string): boolean {
  return getCiphers().includes(suite.toLowerCase()) && isUsable({ ciphers: suite });
}

/** OpenSSL's FIPS provider accepts X25519MLKEM768, which is not approved (openshift/api). */
function isGroupSupported(group: string): boolean {
  if (!/^\w+$/.test(group) || (getFips() === 1 && group.startsWith('X25519'))) return false;
  return group !== DEFAULT_GROUPS && isUsable({ ecdhCurve: group });
}

function isUsable(options: SecureContextOptions): boolean {
  try {
    createSecureContext(options);
    return true;
  } catch {
    return false;
  }
}

function quote(value: unknown): string {
  return toPrintableLine(JSON.stringify(value) ?? 'undefined', MAX_NAME_LENGTH);
}
