import type { PendingCertificateRequest } from '../diagnosis/cluster-snapshot.ts';
import { type ApiObject, isObjectName, parseTime } from '../kube/api-object.ts';
import type { KubeApi } from '../kube/api.ts';
import { describeError } from '../kube/errors.ts';
import { groupBy } from '../common/group-by.ts';
import { ClusterAccessError } from './cluster-access.ts';
import { listAll } from './cluster-reader.ts';

/** Part of the JSON of `check`. */
export interface PendingCertificateRequests {
  /** Whether the user may list them. */
  readonly readable: boolean;
  /** Why they could not be read. */
  readonly reason: string | null;
  readonly requests: readonly PendingCertificateRequest[];
}

type Fields = Readonly<Record<string, unknown>>;

const RESOURCE = {
  kind: 'CertificateSigningRequest',
  paths: ['/apis/certificates.k8s.io/v1/certificatesigningrequests'],
  isMetadataOnly: false,
} as const;
/** For a kubelet's first client certificate and its serving certificate. */
const KUBELET_SIGNERS = new Set(['kubernetes.io/kube-apiserver-client-kubelet', 'kubernetes.io/kubelet-serving']);
const NODE_USER_PREFIX = 'system:node:';

export async function readPendingCertificateRequests(
  api: KubeApi,
  signal: AbortSignal,
): Promise<PendingCertificateRequests> {
  try {
    const all = (await listAll(api, RESOURCE, parsePendingRequest, signal)).flat();
    const requests = keepNewest(all.toSorted((a, b) => (String(a.createdAt) < String(b.createdAt) ? -1 : 1)));
    return { readable: true, reason: null, requests: requests.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
  } catch (error) {
    if (!(error instanceof ClusterAccessError)) throw error;
    return { readable: false, reason: describeError(error.cause), requests: [] };
  }
}

/** The kubelet waits 15 minutes for an answer, then asks anew with another key (rotateCerts in k8s.io/client-go). */
function keepNewest(requests: readonly PendingCertificateRequest[]): PendingCertificateRequest[] {
  const groups = groupBy(requests, ({ name, node, signer }) => `${signer} ${node ?? name}`).values();
  return Array.from(
    groups,
    (group) => ({ ...group.at(-1), createdAt: group[0]?.createdAt }) as PendingCertificateRequest,
  );
}

function parsePendingRequest({ metadata, spec, status }: ApiObject): PendingCertificateRequest[] {
  const { signerName, username, request } = (spec ?? {}) as Fields;
  const { conditions, certificate } = (status ?? {}) as Fields;
  const hasAnswer = (Array.isArray(conditions) && conditions.length > 0) || typeof certificate === 'string';
  const [name, signer] = [String(metadata?.name), String(signerName)];
  // The kubelet's names are `csr-` and five characters. Others, such as `--server=…`, could change a command.
  if (hasAnswer || !KUBELET_SIGNERS.has(signer) || !isObjectName(name)) return [];
  const user = String(username).startsWith(NODE_USER_PREFIX) ? String(username) : readRequestedUser(request);
  const node = user?.slice(NODE_USER_PREFIX.length) ?? '';
  const createdAt = parseTime(metadata?.creationTimestamp)?.toISOString() ?? null;
  return [{ name, node: isObjectName(node) ? node : null, signer, createdAt }];
}

/**
 * All joining machines have the user of the bootstrapper. Only the common name of the request names the node. In DER,
 * the byte before a short text is its length.
 */
function readRequestedUser(request: unknown): string | undefined {
  const pem = Buffer.from(String(request), 'base64').toString('latin1');
  const der = Buffer.from(pem.replaceAll(/-----[A-Z ]+-----/g, ''), 'base64');
  const start = der.indexOf(NODE_USER_PREFIX);
  return start > 0 ? der.toString('utf8', start, start + Number(der[start - 1])) : undefined;
}
