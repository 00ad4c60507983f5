import { X509Certificate } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { ApiObject } from '../kube/api-object.ts';
import type { KubeApi } from '../kube/api.ts';
import { describeError } from '../kube/errors.ts';
import { ProblemLog } from '../kube/problem-log.ts';
import { Reflector, type ReflectorTiming, SINGLE_OBJECT_TIMING } from '../kube/reflector.ts';
import type { Resource } from '../kube/resource.ts';
import { sleep, waitOrAbort } from '../kube/wait.ts';
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
  readonly timing?: ReflectorTiming;
  readonly checkIntervalMs?: number;
}

/** A leaf must outlive an outage of the API server. */
const LEAF_DAYS = 7;
const CHECK_INTERVAL_MS = 1_000;
const SERVICE = 'machineconfig-guard';

type FollowedSecret = { readonly name: string } & (
  { readonly authority: Authority } | { readonly authority: undefined; readonly problem: string }
);

/**
 * Watches the authority in a Secret until the signal aborts, and issues serving certificates (leaves) in
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
  readonly #reflector: Reflector<FollowedSecret>;
  readonly #problemLog: ProblemLog;
  readonly #listeners: (() => void)[] = [];
  readonly firstLeafIssued: Promise<void>;
  #resolveFirstLeafIssued: () => void = () => {};
  #authority: Authority | undefined;
  #leaf: KeyPair | undefined;
  #wake: () => void = () => {};

  constructor(options: AuthoritySecretOptions) {
    const { api, namespace, name, log, timing = SINGLE_OBJECT_TIMING } = options;
    this.#options = options;
    this.#now = options.now ?? (() => new Date());
    this.#problemLog = new ProblemLog(log, `secret ${namespace}/${name} can be used again`);
    this.firstLeafIssued = new Promise((resolve) => {
      this.#resolveFirstLeafIssued = resolve;
    });
    const resource = createSecretResource(namespace, name);
    this.#reflector = new Reflector({ api, resource, log, timing, onChange: () => this.#wake() });
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
    await Promise.all([this.#reflector.run(this.#options.signal), this.#issueRepeatedly()]);
  }

  async #issueRepeatedly(): Promise<void> {
    const { signal, checkIntervalMs = CHECK_INTERVAL_MS } = this.#options;
    while (!signal.aborted) {
      const changeController = new AbortController();
      this.#wake = () => changeController.abort();
      await this.#issueIfDue();
      await Promise.race([sleep(checkIntervalMs, signal), sleep(checkIntervalMs, changeController.signal)]);
    }
  }

  async #issueIfDue(): Promise<void> {
    const { namespace, name } = this.#options;
    const problem = this.#findSecretProblem();
    if (problem === undefined) this.#problemLog.clear();
    else this.#problemLog.warn(`secret ${namespace}/${name} cannot be used: ${problem}`, { reason: problem });
    const [secret] = this.#reflector.objects();
    // An authority in memory still signs, because a missing Secret can outlast a leaf.
    const authority = problem === undefined ? (secret?.authority ?? this.#authority) : this.#authority;
    if (authority === undefined || !checkAuthority(authority, this.#now()).usable) return;
    const reason = this.#findIssueReason(authority);
    if (reason === undefined) return;
    try {
      await this.#issue(authority, reason);
    } catch (error) {
      this.#problemLog.warn(`cannot issue a serving certificate: ${describeError(error)}`);
    }
  }

  /** Undefined before the first read, whose problems the reflector logs. */
  #findSecretProblem(): string | undefined {
    if (!this.#reflector.isSynced) return undefined;
    const [secret] = this.#reflector.objects();
    if (secret === undefined) return 'it does not exist';
    if (secret.authority === undefined) return secret.problem;
    const check = checkAuthority(secret.authority, this.#now());
    return check.usable ? undefined : check.reason;
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

function createSecretResource(namespace: string, name: string): Resource<FollowedSecret> {
  return {
    kind: 'Secret',
    name: 'secrets',
    paths: [`/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`],
    objectName: name,
    isOptional: false,
    isMetadataOnly: false,
    parse: (object) => {
      const { data } = object as ApiObject & { readonly data?: Readonly<Record<string, unknown>> | null };
      const decode = (key: string): string => {
        const value = data?.[key];
        return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : '';
      };
      const missing = ['ca.crt', 'ca.key'].find((key) => decode(key) === '');
      if (missing !== undefined) return { name, authority: undefined, problem: `it has no ${missing}` };
      return { name, authority: { certificatePem: decode('ca.crt'), privateKeyPem: decode('ca.key') } };
    },
  };
}
