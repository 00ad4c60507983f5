import { ADMIN_USER, type InMemoryCluster } from './in-memory-cluster.ts';
import { parseResourcePath, type ResourcePath, toApiVersion } from './kinds.ts';
import { isRecord } from './kube-object.ts';
import { parseSelector } from './selector.ts';
import { badRequest, internalError, invalid, notFound, StatusError, SUCCESS } from './status-error.ts';
import type { Change } from './store.ts';

export interface ClusterRequest {
  readonly method: string;
  readonly path: string;
  readonly accept?: string | undefined;
  readonly body?: unknown;
  readonly user?: string;
}

/** A JSON body (plain text if it is a string), or a stream of watch events. */
export type ClusterResponse =
  | { readonly status: number; readonly body: unknown; readonly warnings?: readonly string[] }
  | { readonly watch: Watch };

/** Starts to send events. Returns the function that stops them. */
type Watch = (send: (event: { readonly type: Change['type']; readonly object: unknown }) => void) => () => void;

type Format = (object: { readonly metadata: unknown }) => unknown;

const META_VERSION = 'meta.k8s.io/v1';

/** Handles a request as kube-apiserver does. Never rejects. */
export async function handleRequest(cluster: InMemoryCluster, request: ClusterRequest): Promise<ClusterResponse> {
  const { pathname, searchParams: query } = new URL(request.path, 'https://cluster');
  try {
    const path = parseResourcePath(pathname);
    if (path === undefined) return { status: 404, body: '404 page not found\n' };
    return request.method === 'GET'
      ? handleRead(cluster, request, path, query)
      : await handleWrite(cluster, request, path, query);
  } catch (error) {
    const { code, status } = error instanceof StatusError ? error : internalError(String(error));
    return { status: code, body: status };
  }
}

function handleRead(
  cluster: InMemoryCluster,
  { accept = '' }: ClusterRequest,
  path: ResourcePath,
  query: URLSearchParams,
): ClusterResponse {
  const { kind, version, name, namespace } = path;
  const apiVersion = toApiVersion(kind, version);
  // Clients that accept metadata in protobuf also accept JSON.
  const isMetadataOnly = accept.includes('as=PartialObjectMetadata');
  const format: Format = isMetadataOnly
    ? ({ metadata }) => ({ kind: 'PartialObjectMetadata', apiVersion: META_VERSION, metadata })
    : (object) => ({ ...object, kind: kind.kind, apiVersion });
  if (name !== undefined) {
    const object = cluster.get(kind.resource, name, namespace);
    if (object === undefined) throw notFound(kind, name);
    return { status: 200, body: format(object) };
  }
  if (query.has('watch')) return { watch: openWatch(cluster, path, query, format) };
  // A server may ignore `limit` and return everything (k8s.io/apimachinery, apis/meta/v1, ListOptions).
  const items = cluster.store.list(kind.resource, namespace).filter(parseSelector(query)).map(format);
  const metadata = { resourceVersion: String(cluster.store.version) };
  if (!isMetadataOnly) return { status: 200, body: { kind: `${kind.kind}List`, apiVersion, metadata, items } };
  // kube-apiserver sends null for an empty list of metadata.
  const list = { metadata, items: items.length > 0 ? items : null };
  return { status: 200, body: { kind: 'PartialObjectMetadataList', apiVersion: META_VERSION, ...list } };
}

function openWatch({ store }: InMemoryCluster, { kind }: ResourcePath, query: URLSearchParams, format: Format): Watch {
  const version = Number(query.get('resourceVersion'));
  // Throws for an old version before the stream starts.
  store.changesAfter(version);
  return (send) => {
    const sendChange = ({ type, resource, object }: Change): void => {
      if (resource === kind.resource) send({ type, object: format(object) });
    };
    for (const change of store.changesAfter(version)) sendChange(change);
    return store.onChange(sendChange);
  };
}

async function handleWrite(
  cluster: InMemoryCluster,
  { method, body, user = ADMIN_USER }: ClusterRequest,
  { kind, name, namespace, isStatus }: ResourcePath,
  query: URLSearchParams,
): Promise<ClusterResponse> {
  const { resource } = kind;
  const fields = isRecord(body) ? body : {};
  // Options are checked before the object (k8s.io/apiserver, endpoints/handlers/delete.go).
  const isDryRun = parseDryRun(fields['dryRun'] ?? query.getAll('dryRun'));
  if (method === 'POST' && name === undefined) {
    const metadata = { ...(fields['metadata'] as object), ...(namespace === '' ? {} : { namespace }) };
    return { status: 201, body: cluster.create(resource, { ...fields, metadata }, isDryRun) };
  }
  if (method === 'PATCH' && name !== undefined) {
    const patch = isStatus ? { status: fields['status'] } : fields;
    return { status: 200, body: cluster.patch(resource, name, patch, namespace, isDryRun) };
  }
  if (method === 'DELETE' && name !== undefined) {
    const { uid } = (fields['preconditions'] ?? {}) as { readonly uid?: string };
    const warnings = await cluster.requestDeletion(resource, name, { user, isDryRun, uid, namespace });
    return { status: 200, body: SUCCESS, warnings };
  }
  throw new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource');
}

function parseDryRun(values: unknown): boolean {
  if (!Array.isArray(values)) throw badRequest('dryRun is not a list');
  if (values.some((value) => value !== 'All')) {
    throw invalid(`dryRun: Unsupported value: ${JSON.stringify(values)}: supported values: "All"`);
  }
  return values.length > 0;
}
