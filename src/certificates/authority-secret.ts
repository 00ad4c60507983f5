import { X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import type { ApiObject } from '../kube/api-object.ts';
import type { KubeApi } from '../kube/api.ts';
import { describeError } from '../kube/errors.ts';
import { ProblemLog } from '../kube/problem-log.ts';
import { Reflector, type ReflectorTiming, SINGLE_OBJECT_TIMING } from '../kube/reflector.ts';
import type { Resource } from '../kube/resource.ts';
import { sleep, waitOrAbort } from '../kube/wait.ts';
import { type Authority, checkAuthority } from './authority.ts';
import { issueLeaf } from './leaf.ts';
import { needsRenewal } from './renewal.ts';
import type { LeafKeyGenerator } from './rsa-keys.ts';
import { type Expiry, readExpiry, type ServingCertificate, type ServingPair } from './serving-certificate.ts';

export interface AuthoritySecretOptions {
  readonly api: KubeApi;
  /** The namespace of the Secret and of the Service `machineconfig-guard` that the leaf is for. */
  readonly namespace: string;
  /** The name of the Secret with `ca.crt` and `ca.key`. */
  readonly name: string;
  readonly log: Logger;
  /** Ends the following. */
  readonly signal: AbortSignal;
  readonly now?: () => Date;
  readonly newKeys?: LeafKeyGenerator;
  readonly timing?: ReflectorTiming;
  /** Milliseconds between two checks whether the leaf is due for renewal. */
  readonly checkIntervalMs?: number;
}

/** Long enough for an outage of the API server, short enough to be renewed all the time. */
const LEAF_DAYS = 7;
const CHECK_INTERVAL_MS = 1_000;
const SERVICE = 'machineconfig-guard';

/** The Secret as the watch has delivered it: an authority, or why it contains none. */
type FollowedSecret = { readonly name: string } & (
  { readonly authority: Authority } | { readonly authority: undefined; readonly problem: string }
);

/**
 * Follows the authority in a Secret and issues a serving certificate from it, in memory: replicas share nothing else, and
 * the key of a leaf is never stored.
 *
 * Resolves with the first leaf, and logs once why there is none yet. Later a Secret that is missing or invalid leaves the
 * last leaf in service. Rejects only with the signal's reason.
 */
export async function followAuthoritySecret(options: AuthoritySecretOptions): Promise<ServingCertificate> {
  const certificate = new IssuedCertificate(options);
  void certificate.run();
  await waitOrAbort(certificate.issued, options.signal);
  return certificate;
}

class IssuedCertificate implements ServingCertificate {
  readonly #options: AuthoritySecretOptions;
  readonly #now: () => Date;
  readonly #reflector: Reflector<FollowedSecret>;
  readonly #problem: ProblemLog;
  readonly #listeners: (() => void)[] = [];
  /** Resolves with the first leaf. */
  readonly issued: Promise<void>;
  #resolveIssued: () => void = () => {};
  /** The authority of the current leaf. */
  #authority: Authority | undefined;
  #leaf: ServingPair | undefined;
  #wake: () => void = () => {};

  constructor(options: AuthoritySecretOptions) {
    const { api, namespace, name, log, timing = SINGLE_OBJECT_TIMING } = options;
    this.#options = options;
    this.#now = options.now ?? (() => new Date());
    this.#problem = new ProblemLog(log, `secret ${namespace}/${name} can be used again`);
    this.issued = new Promise((resolve) => {
      this.#resolveIssued = resolve;
    });
    const onChange = (): void => {
      this.#wake();
    };
    this.#reflector = new Reflector({ api, resource: secretResource(namespace, name), log, timing, onChange });
  }

  current(): ServingPair {
    if (this.#leaf === undefined) throw new Error('there is no certificate yet');
    return this.#leaf;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  expiries(): readonly Expiry[] {
    const authority =
      this.#authority === undefined ? [] : [readExpiry('authority', this.#authority.certificatePem, false)];
    return [readExpiry('serving', this.current().cert, true), ...authority];
  }

  /** Follows the Secret and renews the leaf until the signal aborts. Never rejects. */
  async run(): Promise<void> {
    const { signal, checkIntervalMs = CHECK_INTERVAL_MS } = this.#options;
    await Promise.all([this.#reflector.run(signal), this.#issueWhenDue(signal, checkIntervalMs)]);
  }

  async #issueWhenDue(signal: AbortSignal, checkIntervalMs: number): Promise<void> {
    while (!signal.aborted) {
      const changed = new AbortController();
      this.#wake = () => {
        changed.abort();
      };
      await this.#issueIfDue();
      await Promise.race([sleep(checkIntervalMs, signal), sleep(checkIntervalMs, changed.signal)]).catch(() => {});
    }
  }

  async #issueIfDue(): Promise<void> {
    const { namespace, name } = this.#options;
    const problem = this.#whyUnusable();
    if (problem === undefined) this.#problem.clear();
    else this.#problem.warn(`secret ${namespace}/${name} cannot be used: ${problem}`, { reason: problem });
    const [secret] = this.#reflector.objects();
    // An authority that was read before still signs: the Secret can be missing for longer than a leaf is valid.
    const authority = problem === undefined ? (secret?.authority ?? this.#authority) : this.#authority;
    if (authority === undefined || !checkAuthority(authority, this.#now()).usable) return;
    const reason = this.#whyDue(authority);
    if (reason === undefined) return;
    try {
      await this.#issue(authority, reason);
    } catch (error) {
      this.#problem.warn(`a serving certificate could not be issued: ${describeError(error)}`);
    }
  }

  /** Undefined before the Secret has been read: until then the reflector logs what is wrong. */
  #whyUnusable(): string | undefined {
    if (!this.#reflector.isSynced) return undefined;
    const [secret] = this.#reflector.objects();
    if (secret === undefined) return 'it does not exist';
    if (secret.authority === undefined) return secret.problem;
    const check = checkAuthority(secret.authority, this.#now());
    return check.usable ? undefined : check.reason;
  }

  #whyDue(authority: Authority): string | undefined {
    const known = this.#authority;
    if (known === undefined || this.#leaf === undefined) return 'there is none yet';
    if (known.certificatePem !== authority.certificatePem || known.privateKeyPem !== authority.privateKeyPem) {
      return 'the authority was exchanged';
    }
    const { isDue, reason } = needsRenewal(new X509Certificate(this.#leaf.cert), this.#now());
    return isDue ? reason : undefined;
  }

  async #issue(authority: Authority, reason: string): Promise<void> {
    const { namespace, log, newKeys } = this.#options;
    const dnsNames = [`${SERVICE}.${namespace}.svc`, `${SERVICE}.${namespace}.svc.cluster.local`];
    const leaf = await issueLeaf({ authority, dnsNames, ipAddresses: [], days: LEAF_DAYS, now: this.#now(), newKeys });
    this.#authority = authority;
    this.#leaf = { cert: leaf.certificatePem, key: leaf.privateKeyPem };
    const { validTo, fingerprint256 } = new X509Certificate(leaf.certificatePem);
    log.info({ dnsNames, validTo, fingerprint256 }, `serving certificate issued: ${reason}`);
    this.#resolveIssued();
    for (const listener of this.#listeners) listener();
  }
}

function secretResource(namespace: string, name: string): Resource<FollowedSecret> {
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
