import { X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import { type Authority, checkAuthority } from './authority.ts';
import { issueLeaf } from './leaf.ts';
import { needsRenewal } from './renewal.ts';
import type { LeafKeyGenerator } from './rsa-keys.ts';
import { type KubeApi, describeError } from '../kube/api.ts';
import { sleep, withTimeout } from '../kube/wait.ts';
import { type Expiry, readExpiry, type ServingCertificate, type ServingPair } from './serving-certificate.ts';

/** What {@link followAuthoritySecret} needs. */
export interface AuthoritySecretOptions {
  readonly api: Pick<KubeApi, 'json'>;
  /** Where the Secret with `ca.crt` and `ca.key` is. The leaf is for the Service `machineconfig-guard` of the same namespace. */
  readonly namespace: string;
  readonly name: string;
  readonly log: Logger;
  /** Ends the looking. */
  readonly signal: AbortSignal;
  readonly now?: () => Date;
  readonly newKeys?: LeafKeyGenerator;
  /** How often to look at the Secret and at the leaf's age, in milliseconds. */
  readonly pollMs?: number;
}

/** A leaf lives for a week: long enough to outlast an API server that is away, short enough to be renewed all the time. */
const LEAF_DAYS = 7;
/** An exchanged authority is in use within two seconds; one small GET by name costs the API server nothing. */
const POLL_MS = 1_500;
const READ_MS = 5_000;
const SERVICE = 'machineconfig-guard';

/** The Secret is there and cannot be used. The message says why, and never what is in it. */
class UnusableSecret extends Error {
  override readonly name = 'UnusableSecret';
}

/**
 * A serving certificate that this process issues to itself, in memory, from the authority in a Secret. Replicas need not share
 * anything else, and the key of a leaf is never stored.
 *
 * Resolves with the first leaf; until there is one it goes on looking and says once why. From then on nothing is thrown: a
 * Secret that is gone or broken leaves the last leaf in service. Rejects only with the signal's reason.
 */
export async function followAuthoritySecret(options: AuthoritySecretOptions): Promise<ServingCertificate> {
  const certificate = new SelfIssuedCertificate(options);
  const { signal, pollMs = POLL_MS } = options;
  while (!(await certificate.look())) await sleep(pollMs, signal);
  void certificate.goOnLooking();
  return certificate;
}

class SelfIssuedCertificate implements ServingCertificate {
  readonly #options: AuthoritySecretOptions;
  readonly #listeners: (() => void)[] = [];
  #authority: Authority | undefined;
  #pair: ServingPair | undefined;
  #complaint = '';

  constructor(options: AuthoritySecretOptions) {
    this.#options = options;
  }

  current(): ServingPair {
    if (this.#pair === undefined) throw new Error('there is no certificate yet');
    return this.#pair;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  expiries(): readonly Expiry[] {
    const authority =
      this.#authority === undefined ? [] : [readExpiry('authority', this.#authority.certificatePem, false)];
    return [readExpiry('serving', this.current().cert, true), ...authority];
  }

  /** Looks once: takes a new authority over, renews the leaf where it is time. Returns whether there is a leaf to serve with. */
  async look(): Promise<boolean> {
    const { log, namespace, name, now = () => new Date() } = this.#options;
    try {
      const authority = await this.#read(now());
      const why = this.#reissueReason(authority, now());
      if (why !== undefined) await this.#issue(authority, now(), why);
      if (this.#complaint !== '') log.info(`secret ${namespace}/${name} can be used again`);
      this.#complaint = '';
    } catch (error) {
      const reason = error instanceof UnusableSecret ? error.message : describeError(error);
      if (reason !== this.#complaint) log.warn({ reason }, `secret ${namespace}/${name} cannot be used: ${reason}`);
      this.#complaint = reason;
      // An authority that was read before still signs: the Secret may be away for longer than a leaf lives.
      await this.#renewFromMemory(now());
    }
    return this.#pair !== undefined;
  }

  /** Until the signal. Never rejects. */
  async goOnLooking(): Promise<void> {
    const { signal, pollMs = POLL_MS } = this.#options;
    while (!signal.aborted) {
      await sleep(pollMs, signal).catch(() => {});
      if (!signal.aborted) await this.look();
    }
  }

  async #read(now: Date): Promise<Authority> {
    const { api, namespace, name, signal } = this.#options;
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`;
    const secret = (await withTimeout(
      READ_MS,
      signal,
      async (limited) => await api.json({ path, signal: limited }),
    )) as {
      data?: Readonly<Record<string, unknown>> | null;
    };
    const authority = {
      certificatePem: decoded(secret.data?.['ca.crt'], 'ca.crt'),
      privateKeyPem: decoded(secret.data?.['ca.key'], 'ca.key'),
    };
    const check = checkAuthority(authority, now);
    if (!check.usable) throw new UnusableSecret(check.reason);
    return authority;
  }

  #reissueReason(authority: Authority, now: Date): string | undefined {
    const known = this.#authority;
    if (known === undefined || this.#pair === undefined) return 'there is none yet';
    if (known.certificatePem !== authority.certificatePem || known.privateKeyPem !== authority.privateKeyPem) {
      return 'the authority was exchanged';
    }
    const { isDue, reason } = needsRenewal(new X509Certificate(this.#pair.cert), now);
    return isDue ? reason : undefined;
  }

  async #renewFromMemory(now: Date): Promise<void> {
    const authority = this.#authority;
    if (authority === undefined || !checkAuthority(authority, now).usable) return;
    const why = this.#reissueReason(authority, now);
    if (why !== undefined) await this.#issue(authority, now, why);
  }

  async #issue(authority: Authority, now: Date, why: string): Promise<void> {
    const { namespace, log, newKeys } = this.#options;
    const dnsNames = [`${SERVICE}.${namespace}.svc`, `${SERVICE}.${namespace}.svc.cluster.local`];
    const leaf = await issueLeaf({ authority, dnsNames, ipAddresses: [], days: LEAF_DAYS, now, newKeys });
    this.#authority = authority;
    this.#pair = { cert: leaf.certificatePem, key: leaf.privateKeyPem };
    const { validTo, fingerprint256 } = new X509Certificate(leaf.certificatePem);
    log.info({ dnsNames, validTo, fingerprint256 }, `serving certificate issued: ${why}`);
    for (const listener of this.#listeners) listener();
  }
}

function decoded(value: unknown, key: string): string {
  if (typeof value !== 'string' || value === '') throw new UnusableSecret(`it has no ${key}`);
  return Buffer.from(value, 'base64').toString('utf8');
}
