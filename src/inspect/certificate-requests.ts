import { ApiError, describeError } from '../kube/errors.ts';
import type { ApiObject } from '../kube/api-object.ts';
import { type KubeApi } from '../kube/api.ts';
import { listCollection } from '../kube/lists/list.ts';
import { withTimeout } from '../kube/wait.ts';

/** A node's request for a certificate that nobody has answered. */
export interface PendingCertificateRequest {
  readonly name: string;
  /** The node that asks, as far as the request tells. */
  readonly node: string | undefined;
  readonly signer: string;
  readonly createdAt: Date | undefined;
}

/** The pending requests, or why they could not be read. They decide nothing, so that is no error. */
export type PendingCertificateRequests =
  | { readonly readable: true; readonly requests: readonly PendingCertificateRequest[] }
  | { readonly readable: false; readonly reason: string };

const COLLECTION = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
/** Who signs what a kubelet asks for: its client certificate when it joins, its serving certificate afterwards. */
const SIGNERS = new Set(['kubernetes.io/kube-apiserver-client-kubelet', 'kubernetes.io/kubelet-serving']);
const NODE_USER = 'system:node:';

/** Nothing waits longer for what decides nothing. */
const READ_MS = 5_000;

/** Node certificate requests that are neither approved nor denied nor failed. Never rejects. */
export async function readPendingCertificateRequests(
  api: KubeApi,
  signal: AbortSignal,
): Promise<PendingCertificateRequests> {
  const requests: PendingCertificateRequest[] = [];
  const keep = (object: ApiObject): void => {
    const request = pendingRequest(object);
    if (request !== undefined) requests.push(request);
  };
  try {
    await withTimeout(READ_MS, signal, async (limited) => {
      await listCollection(api, COLLECTION, { isMetadataOnly: false }, keep, limited);
    });
  } catch (error) {
    return { readable: false, reason: whyNot(error) };
  }
  return { readable: true, requests: requests.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
}

function whyNot(error: unknown): string {
  return error instanceof ApiError && error.status === 403
    ? 'you may not list certificatesigningrequests.certificates.k8s.io'
    : describeError(error);
}

function pendingRequest({ metadata, spec, status }: ApiObject): PendingCertificateRequest | undefined {
  const { signerName, username, request } = (spec ?? {}) as Readonly<Record<string, unknown>>;
  const { conditions, certificate } = (status ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof metadata?.name !== 'string' || typeof signerName !== 'string' || !SIGNERS.has(signerName)) {
    return undefined;
  }
  if ((Array.isArray(conditions) && conditions.length > 0) || typeof certificate === 'string') return undefined;
  const createdAt = new Date(String(metadata.creationTimestamp));
  const asked = typeof username === 'string' && username.startsWith(NODE_USER) ? username : commonName(request);
  return {
    name: metadata.name,
    node: asked?.startsWith(NODE_USER) === true ? asked.slice(NODE_USER.length) : undefined,
    signer: signerName,
    createdAt: Number.isNaN(createdAt.getTime()) ? undefined : createdAt,
  };
}

/** The object identifier 2.5.4.3, commonName, in DER. */
const COMMON_NAME = Buffer.from([0x06, 0x03, 0x55, 0x04, 0x03]);

/**
 * The subject's common name in a PKCS #10 request. A machine that joins asks as the bootstrapper that all of them share; only
 * the request itself says which node it is going to be.
 *
 * @param request base64 of PEM, as the API has it
 */
function commonName(request: unknown): string | undefined {
  if (typeof request !== 'string') return undefined;
  const pem = Buffer.from(request, 'base64').toString('latin1');
  const der = Buffer.from(pem.replaceAll(/-----[^-]*-----/g, ''), 'base64');
  const at = der.indexOf(COMMON_NAME);
  if (at === -1) return undefined;
  // A string type and a length of one byte: names of nodes are short enough for both.
  const length = der[at + COMMON_NAME.length + 1] ?? 0;
  const from = at + COMMON_NAME.length + 2;
  return der.subarray(from, from + length).toString('utf8');
}
