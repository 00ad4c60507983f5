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
import { type Authority, issueLeaf, parseAuthority } from './authority.ts';
import { findRenewalReason, type ServedPair, ServingCertificate, UnusableKeyPair } from './key-pair.ts';

export interface AuthoritySecretOptions {
  readonly api: KubeApi;
  /** The namespace of the Secret, and of the Service that the leaf names. */
  readonly namespace: string;
  readonly name: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** A leaf must outlive an outage of the API server. */
export const LEAF_DAYS = 7;
const INTERVAL_MS = 1_000;
const SERVICE = 'machineconfig-guard';

/**
 * Follows the authority in a Secret until the signal aborts, and issues serving certificates (leaves) in memory
 * (docs/internals/decisions/0004). Resolves with the first leaf. While the Secret is missing or invalid, the last leaf
 * stays. Rejects only with the signal's reason.
 */
export async function followAuthoritySecret(options: AuthoritySecretOptions): Promise<ServingCertificate> {
  const { api, namespace, name, log, signal } = options;
  // The API server checks the leaf by its own clock.
  const now = api.now.bind(api);
  const secret = `secret ${namespace}/${name}`;
  const problem = new ProblemLog(log, `${secret} can be used again`);
  let certificate: ServingCertificate | undefined;
  let onFirst: ((certificate: ServingCertificate) => void) | undefined;
  const first = new Promise<ServingCertificate>((resolve) => {
    onFirst = resolve;
  });

  const issueIfDue = async (authority: Authority): Promise<void> => {
    const reason = findIssueReason(certificate?.current(), authority, now());
    if (reason === undefined) return;
    const dnsNames = [`${SERVICE}.${namespace}.svc`, `${SERVICE}.${namespace}.svc.cluster.local`];
    const leaf = await issueLeaf({ authority, dnsNames, ipAddresses: [], days: LEAF_DAYS, now: now() });
    const { validTo, fingerprint256 } = new X509Certificate(leaf.certificatePem);
    log.info({ dnsNames, validTo, fingerprint256 }, `serving certificate issued: ${reason}`);
    if (certificate === undefined) onFirst?.((certificate = new ServingCertificate({ ...leaf, authority })));
    else certificate.replace({ ...leaf, authority });
  };
  const warn = (text: string, error: unknown): void => {
    const reason = describeError(error);
    problem.warn(`${text}: ${reason}`, { reason });
  };
  const onRead = async (object: ApiObject | undefined): Promise<void> => {
    const authority = parseSecret(object, now());
    try {
      await issueIfDue(authority);
      problem.clear();
    } catch (error) {
      warn('cannot issue a serving certificate', error);
    }
  };
  const onFailure = async (error: unknown): Promise<void> => {
    warn(error instanceof UnusableKeyPair ? `${secret} cannot be used` : `cannot read ${secret}`, error);
    // An authority in memory still signs, because an unusable Secret can outlast a leaf.
    try {
      const { authority } = certificate?.current() ?? {};
      if (authority !== undefined) await issueIfDue(authority);
    } catch {
      // The problem of the Secret is the cause, and is in the log.
    }
  };
  const path = objectPath(`/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`, name);
  void pollObject({ api, path, kind: 'Secret', intervalMs: INTERVAL_MS, onRead, onFailure }, signal);
  return await waitOrAbort(first, signal);
}

function findIssueReason(issued: ServedPair | undefined, authority: Authority, now: Date): string | undefined {
  if (issued === undefined) return 'there is none yet';
  if (!isDeepStrictEqual(authority, issued.authority)) return 'the authority was rotated';
  const leaf = new X509Certificate(issued.certificatePem);
  const reason = findRenewalReason(leaf, now);
  // At the end of the authority, a new leaf would end at the same time.
  const endsWithAuthority = reason && leaf.validTo === new X509Certificate(authority.certificatePem).validTo;
  return endsWithAuthority ? undefined : reason;
}

function parseSecret(object: ApiObject | undefined, now: Date): Authority {
  if (object === undefined) throw new UnusableKeyPair('it does not exist');
  const { data } = object as ApiObject & { readonly data?: Readonly<Record<string, unknown>> | null };
  const [certificatePem = '', privateKeyPem = ''] = ['ca.crt', 'ca.key'].map((key) => {
    const value = data?.[key];
    if (typeof value !== 'string' || value === '') throw new UnusableKeyPair(`it has no ${key}`);
    return Buffer.from(value, 'base64').toString('utf8');
  });
  parseAuthority({ certificatePem, privateKeyPem }, now);
  return { certificatePem, privateKeyPem };
}
