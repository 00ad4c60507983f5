import type { ApiObject } from '../kube/api-object.ts';
import type { KubeApi } from '../kube/api.ts';
import { ApiError, describeError } from '../kube/errors.ts';
import { listCollection } from '../kube/lists/list.ts';
import { withTimeout } from '../kube/wait.ts';

/** A kubelet's certificate signing request that is neither approved, denied, failed nor issued. */
export interface PendingCertificateRequest {
  readonly name: string;
  /** Undefined if neither the user nor the request names a node. */
  readonly node: string | undefined;
  readonly signer: string;
  readonly createdAt: Date | undefined;
}

/** The pending requests, or why they could not be read. That is not an error, because they decide nothing. */
export type PendingCertificateRequests =
  | { readonly readable: true; readonly requests: readonly PendingCertificateRequest[] }
  | { readonly readable: false; readonly reason: string };

const COLLECTION = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
/** The signers of a kubelet's client certificate when it joins, and of its serving certificate afterwards. */
const KUBELET_SIGNERS = new Set(['kubernetes.io/kube-apiserver-client-kubelet', 'kubernetes.io/kubelet-serving']);
const NODE_USER_PREFIX = 'system:node:';
const READ_TIMEOUT_MS = 5_000;

/** Lists the pending certificate requests of nodes, sorted by name. Never rejects. */
export async function readPendingCertificateRequests(
  api: KubeApi,
  signal: AbortSignal,
): Promise<PendingCertificateRequests> {
  const pending: ApiObject[] = [];
  const addIfPending = (object: ApiObject): void => {
    if (isPendingKubeletRequest(object)) pending.push(object);
  };
  try {
    await withTimeout(READ_TIMEOUT_MS, signal, async (limited) => {
      await listCollection(api, COLLECTION, { isMetadataOnly: false }, addIfPending, limited);
    });
  } catch (error) {
    const isForbidden = error instanceof ApiError && error.status === 403;
    const reason = isForbidden
      ? 'you may not list certificatesigningrequests.certificates.k8s.io'
      : describeError(error);
    return { readable: false, reason };
  }
  const requests = await Promise.all(pending.map(parseRequest));
  return { readable: true, requests: requests.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
}

function isPendingKubeletRequest({ metadata, spec, status }: ApiObject): boolean {
  const { signerName } = (spec ?? {}) as { readonly signerName?: unknown };
  const { conditions, certificate } = (status ?? {}) as {
    readonly conditions?: unknown;
    readonly certificate?: unknown;
  };
  const hasAnswer = (Array.isArray(conditions) && conditions.length > 0) || typeof certificate === 'string';
  return typeof metadata?.name === 'string' && KUBELET_SIGNERS.has(String(signerName)) && !hasAnswer;
}

async function parseRequest({ metadata, spec }: ApiObject): Promise<PendingCertificateRequest> {
  const { signerName, username, request } = spec as Readonly<Record<string, unknown>>;
  const createdAt = new Date(String(metadata?.creationTimestamp));
  const isNodeUser = typeof username === 'string' && username.startsWith(NODE_USER_PREFIX);
  const nodeUser = isNodeUser ? username : await readSubject(request);
  return {
    name: String(metadata?.name),
    node: nodeUser?.startsWith(NODE_USER_PREFIX) === true ? nodeUser.slice(NODE_USER_PREFIX.length) : undefined,
    signer: String(signerName),
    createdAt: Number.isNaN(createdAt.getTime()) ? undefined : createdAt,
  };
}

/** Machines that join share the bootstrapper's user. Only the certificate request itself names the new node. */
async function readSubject(request: unknown): Promise<string | undefined> {
  if (typeof request !== 'string') return undefined;
  // node-forge takes 46 ms to load.
  const { readCommonName } = await import('./certificate-request-subject.ts');
  return readCommonName(Buffer.from(request, 'base64').toString('latin1'));
}
