import { X509Certificate } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { ApiObject } from '../kube/api-object.ts';
import { objectPath } from '../kube/api-paths.ts';
import type { KubeApi } from '../kube/api.ts';
import { describeError } from '../kube/errors.ts';
import { pollObject } from '../kube/poll-object.ts';
import { ProblemLog } from '../common/problem-log.ts';
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
 * Follows the authority in a Secret until the signal aborts, and issues serving certificates (leaves) in
 * memory (docs/adr/0004). Resolves with the first leaf. While the Secret is missing or invalid, the last leaf
 * stays. Rejects only with the signal's reason.
 */
export async function followAuthoritySecret(options: AuthoritySecretOptions): Promise<ServingCertificate> {
  const certificate = new IssuedCertificate(options);
  void certificate.run();
  await waitOrAbort(certificate.firstLeafIssued, options.signal);
  return certificate;
}

class IssuedCertificate implements ServingCertificate {
  readonly #options: AuthoritySecretOptions;
  readonly #now: () => Date;
  readonly #problemLog: ProblemLog;
  readonly #listeners: (() => void)[] = [];
  readonly firstLeafIssued: Promise<void>;
  #resolveFirstLeafIssued: () => void = () => {};
  #authority: Authority | undefined;
  #leaf: KeyPair | undefined;

  constructor(options: AuthoritySecretOptions) {
    const { namespace, name, log } = options;
    this.#options = options;
    this.#now = options.now ?? (() => new Date());
    this.#problemLog = new ProblemLog(log, `secret ${namespace}/${name} can be used again`);
    this.firstLeafIssued = new Promise((resolve) => {
      this.#resolveFirstLeafIssued = resolve;
    });
  }

  current(): KeyPair {
    if (this.#leaf === undefined) throw new Error('there is no certificate yet');
    return this.#leaf;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  expiries(): readonly Expiry[] {
    const serving = readExpiry('serving', this.current().certificatePem, true);
    if (this.#authority === undefined) return [serving];
    return [serving, readExpiry('authority', this.#authority.certificatePem, false)];
  }

  /** Never rejects. */
  async run(): Promise<void> {
    const { api, namespace, name, signal, intervalMs = INTERVAL_MS } = this.#options;
    const path = objectPath(`/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`, name);
    const onRead = async (object: ApiObject | undefined): Promise<void> => {
      const secret = parseSecret(object);
      const problem = this.#findProblem(secret);
      if (problem === undefined) this.#problemLog.clear();
      else this.#problemLog.warn(`secret ${namespace}/${name} cannot be used: ${problem}`, { reason: problem });
      await this.#issueIfDue(problem === undefined ? secret : undefined);
    };
    const onFailure = async (error: unknown): Promise<void> => {
      const reason = describeError(error);
      this.#problemLog.warn(`cannot read secret ${namespace}/${name}: ${reason}`, { reason });
      await this.#issueIfDue(undefined);
    };
    await pollObject({ api, path, kind: 'Secret', intervalMs: () => intervalMs, onRead, onFailure }, signal);
  }

  #findProblem(secret: Authority | string): string | undefined {
    if (typeof secret === 'string') return secret;
    const check = checkAuthority(secret, this.#now());
    return check.usable ? undefined : check.reason;
  }

  /** An authority in memory still signs, because an unusable Secret can outlast a leaf. */
  async #issueIfDue(read: Authority | string | undefined): Promise<void> {
    const authority = typeof read === 'object' ? read : this.#authority;
    if (authority === undefined || !checkAuthority(authority, this.#now()).usable) return;
    const reason = this.#findIssueReason(authority);
    if (reason === undefined) return;
    try {
      await this.#issue(authority, reason);
    } catch (error) {
      this.#problemLog.warn(`cannot issue a serving certificate: ${describeError(error)}`);
    }
  }

  #findIssueReason(authority: Authority): string | undefined {
    if (this.#leaf === undefined) return 'there is none yet';
    if (!isDeepStrictEqual(authority, this.#authority)) return 'the authority was rotated';
    return findRenewalReason(new X509Certificate(this.#leaf.certificatePem), this.#now());
  }

  async #issue(authority: Authority, reason: string): Promise<void> {
    const { namespace, log, generateKeys } = this.#options;
    const dnsNames = [`${SERVICE}.${namespace}.svc`, `${SERVICE}.${namespace}.svc.cluster.local`];
    this.#leaf = await issueLeaf({
      authority,
      dnsNames,
      ipAddresses: [],
      days: LEAF_DAYS,
      now: this.#now(),
      generateKeys,
    });
    this.#authority = authority;
    const { validTo, fingerprint256 } = new X509Certificate(this.#leaf.certificatePem);
    log.info({ dnsNames, validTo, fingerprint256 }, `serving certificate issued: ${reason}`);
    this.#resolveFirstLeafIssued();
    for (const listener of this.#listeners) listener();
  }
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
