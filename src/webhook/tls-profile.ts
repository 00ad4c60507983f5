import { getCiphers, type SecureVersion } from 'node:tls';
import { countNoun, joinFirst, toPrintableLine } from '../decision/printable-text.ts';
import type { ApiObject } from '../kube/api-object.ts';
import { INTERMEDIATE_CIPHERS, toOpenSslName, TLS_1_3_SUITES } from './cipher-suites.ts';

/** The parameters of new TLS connections. */
export interface TlsParameters {
  readonly minVersion: SecureVersion;
  /** OpenSSL's list. */
  readonly ciphers: string;
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
  /** Cipher suites of a Custom profile that Node.js does not support. */
  readonly unsupported: readonly string[];
  /** Why the cipher suites of Intermediate apply instead of those of the cluster. */
  readonly unusable?: string;
}

/**
 * The tables of openshift/api, config/v1/types_tlssecurityprofile.go. Old has the suites of Intermediate and these.
 */
const OLD_SUITES = [
  'DHE-RSA-CHACHA20-POLY1305',
  'ECDHE-ECDSA-AES128-SHA256',
  'ECDHE-RSA-AES128-SHA256',
  'ECDHE-ECDSA-AES128-SHA',
  'ECDHE-RSA-AES128-SHA',
  'ECDHE-ECDSA-AES256-SHA384',
  'ECDHE-RSA-AES256-SHA384',
  'ECDHE-ECDSA-AES256-SHA',
  'ECDHE-RSA-AES256-SHA',
  'DHE-RSA-AES128-SHA256',
  'DHE-RSA-AES256-SHA256',
  'AES128-GCM-SHA256',
  'AES256-GCM-SHA384',
  'AES128-SHA256',
  'AES256-SHA256',
  'AES128-SHA',
  'AES256-SHA',
  'DES-CBC3-SHA',
];

export const INTERMEDIATE: TlsProfile = {
  type: 'Intermediate',
  minVersion: 'TLSv1.2',
  ciphers: INTERMEDIATE_CIPHERS,
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

const MAX_LISTED_SUITES = 10;
const MAX_NAME_LENGTH = 64;

/**
 * Reads the profile of an `apiservers.config.openshift.io`. Without one, Intermediate applies.
 *
 * TLS 1.2 is the minimum of every profile: OpenSSL 3 negotiates older versions only at security level 0, which would
 * also accept weak client certificates. The clients, API server and Prometheus, speak TLS 1.3.
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
      return { ...INTERMEDIATE, unusable: `the profile type ${quote(type)} is unknown` };
  }
}

/** `TLS 1.2 and later with 11 cipher suites`, and which were left out. */
export function describeTlsProfile({ minVersion, ciphers, unsupported }: TlsProfile): string {
  const version = `TLS ${minVersion.slice('TLSv'.length)}${minVersion === 'TLSv1.3' ? '' : ' and later'}`;
  const suites = countNoun(ciphers.split(':').length, 'cipher suite');
  const omitted =
    unsupported.length === 0
      ? ''
      : `, without ${joinFirst(unsupported.map(quote), MAX_LISTED_SUITES)}, which Node.js does not support`;
  return `${version} with ${suites}${omitted}`;
}

/** For a process whose flags set the parameters, and for one that follows no cluster. */
export function createFixedTlsPolicy(parameters: TlsParameters): TlsPolicy {
  return { current: () => parameters, onChange: () => {} };
}

interface StoredProfile {
  readonly type?: unknown;
  readonly custom?: { readonly ciphers?: unknown; readonly minTLSVersion?: unknown } | null;
}

/** As in Go, TLS 1.3 keeps all its suites if the profile names none of them, and an empty list means the default. */
function toCustomProfile({ ciphers, minTLSVersion }: NonNullable<StoredProfile['custom']>): TlsProfile {
  const minVersion = minTLSVersion === 'VersionTLS13' ? 'TLSv1.3' : 'TLSv1.2';
  const names = Array.isArray(ciphers) ? ciphers.map(String) : [];
  const suites = names.map(toOpenSslName);
  const supported = suites.filter(isSupported);
  const unsupported = names.filter((_name, index) => !isSupported(suites[index] ?? ''));
  const profile = { type: 'Custom', minVersion, unsupported } as const;
  if (supported.length === 0) {
    const unusable = 'the profile Custom names no cipher suite that Node.js supports';
    return { ...profile, ciphers: INTERMEDIATE_CIPHERS, ...(names.length === 0 ? {} : { unusable }) };
  }
  const hasTls13 = supported.some((suite) => TLS_1_3_SUITES.includes(suite));
  return { ...profile, ciphers: [...(hasTls13 ? [] : TLS_1_3_SUITES), ...supported].join(':') };
}

/** Node.js lists its cipher suites in lower case. */
function isSupported(suite: string): boolean {
  return getCiphers().includes(suite.toLowerCase());
}

function quote(value: unknown): string {
  return toPrintableLine(JSON.stringify(value) ?? 'undefined', MAX_NAME_LENGTH);
}
