import { isObjectName } from '../decision/references.ts';
import type { PendingCertificateRequest } from '../diagnosis/cluster-snapshot.ts';
import type { ApiObject } from '../kube/api-object.ts';
import type { KubeApi } from '../kube/api.ts';
import { ApiError, describeError } from '../kube/errors.ts';
import { listCollection } from '../kube/lists/list.ts';
import { isAccessFailure } from './cluster-access.ts';

/** Part of the JSON of `check`. An API server that denies the list is no error. */
export interface PendingCertificateRequests {
  readonly readable: boolean;
  readonly reason: string | null;
  readonly requests: readonly PendingCertificateRequest[];
}

type Fields = Readonly<Record<string, unknown>>;

const COLLECTION = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
/** For a kubelet's first client certificate and its serving certificate. */
const KUBELET_SIGNERS = new Set(['kubernetes.io/kube-apiserver-client-kubelet', 'kubernetes.io/kubelet-serving']);
/** The kubelet's names are `csr-` and five characters. Others, such as `--server=…`, could change a command. */
const KUBELET_REQUEST_NAME = /^[a-z0-9][-.a-z0-9]*$/;
const NODE_USER_PREFIX = 'system:node:';

/** Sorted by name. Rejects only after a defect of this program, or with the signal's reason. */
export async function readPendingCertificateRequests(
  api: KubeApi,
  signal: AbortSignal,
): Promise<PendingCertificateRequests> {
  const pendingRequests: ApiObject[] = [];
  const addIfPending = (object: ApiObject): void => {
    if (isPendingKubeletRequest(object)) pendingRequests.push(object);
  };
  try {
    const resource = { kind: 'CertificateSigningRequest', isMetadataOnly: false };
    await listCollection(api, COLLECTION, resource, addIfPending, signal);
  } catch (error) {
    if (signal.aborted || !isAccessFailure(error)) throw error;
    const isForbidden = error instanceof ApiError && error.status === 403;
    const permission = '403 Forbidden: you need "list" on certificatesigningrequests.certificates.k8s.io';
    return { readable: false, reason: isForbidden ? permission : describeError(error), requests: [] };
  }
  const requests = pendingRequests.map(parseRequest);
  return { readable: true, reason: null, requests: requests.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
}

function isPendingKubeletRequest({ metadata, spec, status }: ApiObject): boolean {
  const { signerName } = (spec ?? {}) as Fields;
  const { conditions, certificate } = (status ?? {}) as Fields;
  const hasAnswer = (Array.isArray(conditions) && conditions.length > 0) || typeof certificate === 'string';
  return KUBELET_REQUEST_NAME.test(String(metadata?.name)) && KUBELET_SIGNERS.has(String(signerName)) && !hasAnswer;
}

function parseRequest({ metadata, spec }: ApiObject): PendingCertificateRequest {
  const { signerName, username, request } = spec as Fields;
  const createdAt = new Date(String(metadata?.creationTimestamp));
  const user = String(username).startsWith(NODE_USER_PREFIX) ? String(username) : readRequestedUser(request);
  const node = user?.slice(NODE_USER_PREFIX.length) ?? '';
  return {
    name: String(metadata?.name),
    node: isObjectName(node) ? node : null,
    signer: String(signerName),
    createdAt: Number.isNaN(createdAt.getTime()) ? null : createdAt.toISOString(),
  };
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
