import { X509Certificate } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { ApiObject } from '../kube/api-object.ts';
import { objectPath } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { describeError } from '../kube/errors.ts';
import { pollObject } from '../kube/poll-object.ts';
import { ProblemLog } from '../common/problem-log.ts';
import { Replaceable } from '../common/replaceable.ts';
import { waitOrAbort } from '../common/wait.ts';
import { type Authority, checkAuthority } from './authority.ts';
import type { KeyPair } from './key-pair.ts';
import { issueLeaf } from './leaf.ts';
import type { KeyGenerator } from './rsa-keys.ts';
import { type Expiry, readExpiry, type ServingCertificate } from './serving-certificate.ts';
import { findRenewalReason } from './validity.ts';

export interface AuthoritySecretOptions {
  readonly api: KubeApi;
  /** The namespace of the Secret, and of the Service that the leaf names. */
  readonly namespace: string;
  readonly name: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly now?: () => Date;
  readonly generateKeys?: KeyGenerator | undefined;
  /** Milliseconds between two reads of the Secret. */
  readonly intervalMs?: number;
}

/** A leaf must outlive an outage of the API server. */
const LEAF_DAYS = 7;
const INTERVAL_MS = 1_000;
const SERVICE = 'machineconfig-guard';

/**
 * Follows the authority in a Secret until the signal aborts, and issues serving certificates (leaves) in memory
 * (docs/internals/decisions/0004). Resolves with the first leaf. While the Secret is missing or invalid, the last leaf
 * stays. Rejects only with the signal's reason.
 */
export async function followAuthoritySecret(options: AuthoritySecretOptions): Promise<ServingCertificate> {
  const first = new Promise<ServingCertificate>((resolve) => {
    void new LeafIssuer(options, resolve).run();
  });
  return await waitOrAbort(first, options.signal);
}

class IssuedCertificate extends Replaceable<KeyPair> implements ServingCertificate {
  authority: Authority;

  constructor(leaf: KeyPair, authority: Authority) {
    super(leaf);
    this.authority = authority;
  }

  expiries(): readonly Expiry[] {
    return [
      readExpiry('serving', this.current().certificatePem, true),
      readExpiry('authority', this.authority.certificatePem, false),
    ];
  }
}

class LeafIssuer {
  readonly #options: AuthoritySecretOptions;
  readonly #onFirst: (certificate: ServingCertificate) => void;
  readonly #now: () => Date;
  readonly #problem: ProblemLog;
  #certificate: IssuedCertificate | undefined;

  constructor(options: AuthoritySecretOptions, onFirst: (certificate: ServingCertificate) => void) {
    const { namespace, name, log, now = () => new Date() } = options;
    this.#options = options;
    this.#onFirst = onFirst;
    this.#now = now;
    this.#problem = new ProblemLog(log, `secret ${namespace}/${name} can be used again`);
  }

  /** Never rejects. */
  async run(): Promise<void> {
    const { api, namespace, name, signal, intervalMs = INTERVAL_MS } = this.#options;
    const path = objectPath(`/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`, name);
    const onRead = async (object: ApiObject | undefined): Promise<void> => {
      const secret = parseSecret(object);
      const problem = typeof secret === 'string' ? secret : findProblem(secret, this.#now());
      if (problem !== undefined) {
        this.#problem.warn(`secret ${namespace}/${name} cannot be used: ${problem}`, { reason: problem });
      }
      const isServing = await this.#issueIfDue(problem === undefined ? (secret as Authority) : undefined);
      if (problem === undefined && isServing) this.#problem.clear();
    };
    const onFailure = async (error: unknown): Promise<void> => {
      const reason = describeError(error);
      this.#problem.warn(`cannot read secret ${namespace}/${name}: ${reason}`, { reason });
      await this.#issueIfDue(undefined);
    };
    await pollObject({ api, path, kind: 'Secret', intervalMs, onRead, onFailure }, signal);
  }

  /**
   * Returns false if a certificate is due and cannot be issued. An authority in memory still signs, because an unusable
   * Secret can outlast a leaf.
   */
  async #issueIfDue(authority = this.#certificate?.authority): Promise<boolean> {
    if (authority === undefined || findProblem(authority, this.#now()) !== undefined) return true;
    const reason = this.#findIssueReason(authority);
    try {
      if (reason !== undefined) await this.#issue(authority, reason);
      return true;
    } catch (error) {
      this.#problem.warn(`cannot issue a serving certificate: ${describeError(error)}`);
      return false;
    }
  }

  #findIssueReason(authority: Authority): string | undefined {
    if (this.#certificate === undefined) return 'there is none yet';
    if (!isDeepStrictEqual(authority, this.#certificate.authority)) return 'the authority was rotated';
    return findRenewalReason(new X509Certificate(this.#certificate.current().certificatePem), this.#now());
  }

  async #issue(authority: Authority, reason: string): Promise<void> {
    const { namespace, log, generateKeys } = this.#options;
    const dnsNames = [`${SERVICE}.${namespace}.svc`, `${SERVICE}.${namespace}.svc.cluster.local`];
    const validity = { days: LEAF_DAYS, now: this.#now() };
    const leaf = await issueLeaf({ authority, dnsNames, ipAddresses: [], ...validity, generateKeys });
    const { validTo, fingerprint256 } = new X509Certificate(leaf.certificatePem);
    log.info({ dnsNames, validTo, fingerprint256 }, `serving certificate issued: ${reason}`);
    if (this.#certificate === undefined) {
      this.#certificate = new IssuedCertificate(leaf, authority);
      this.#onFirst(this.#certificate);
    } else {
      this.#certificate.authority = authority;
      this.#certificate.replace(leaf);
    }
  }
}

function findProblem(authority: Authority, now: Date): string | undefined {
  const check = checkAuthority(authority, now);
  return check.usable ? undefined : check.reason;
}

/** @returns the authority, or why the Secret has none */
function parseSecret(object: ApiObject | undefined): Authority | string {
  if (object === undefined) return 'it does not exist';
  const { data } = object as ApiObject & { readonly data?: Readonly<Record<string, unknown>> | null };
  const decode = (key: string): string => {
    const value = data?.[key];
    return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : '';
  };
  const missing = ['ca.crt', 'ca.key'].find((key) => decode(key) === '');
  if (missing !== undefined) return `it has no ${missing}`;
  return { certificatePem: decode('ca.crt'), privateKeyPem: decode('ca.key') };
}
