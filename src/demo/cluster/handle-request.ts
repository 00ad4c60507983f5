import { ApiError } from '../../kube/errors.ts';
import { askWebhooks, createInternalError } from './admission.ts';
import { type Change, createConflict, type InMemoryCluster, type KubeObject } from './in-memory-cluster.ts';
import { parseResourcePath, type ResourcePath, toApiVersion } from './kinds.ts';

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
type Watch = (send: (event: { readonly type: Change['type']; readonly object: object }) => void) => () => void;

/** The fields of a request that this API server reads. */
interface RequestBody {
  readonly metadata?: object;
  readonly status?: unknown;
  readonly dryRun?: readonly unknown[];
  readonly preconditions?: { readonly uid?: string };
}

export const ADMIN_USER = 'system:admin';
const STATUS = { kind: 'Status', apiVersion: 'v1', metadata: {} };
const META_VERSION = 'meta.k8s.io/v1';

/** Handles a request as kube-apiserver does. Never rejects. */
export async function handleRequest(cluster: InMemoryCluster, request: ClusterRequest): Promise<ClusterResponse> {
  const { pathname, searchParams: query } = new URL(request.path, 'https://cluster');
  const path = parseResourcePath(pathname);
  if (path === undefined) return { status: 404, body: '404 page not found\n' };
  try {
    if (request.method === 'GET') return handleRead(cluster, request, path, query);
    return await handleWrite(cluster, request, path, query);
  } catch (error) {
    const { status, reason, message } = error instanceof ApiError ? error : createInternalError(String(error));
    return { status, body: { ...STATUS, status: 'Failure', message, reason, code: status } };
  }
}

function handleRead(
  cluster: InMemoryCluster,
  { accept = '' }: ClusterRequest,
  { kind, version, name, namespace }: ResourcePath,
  query: URLSearchParams,
): ClusterResponse {
  // Clients that accept metadata in protobuf also accept JSON.
  const isMetadataOnly = accept.includes('as=PartialObjectMetadata');
  const type = isMetadataOnly
    ? { kind: 'PartialObjectMetadata', apiVersion: META_VERSION }
    : { kind: kind.kind, apiVersion: toApiVersion(kind, version) };
  const format = ({ metadata, ...fields }: KubeObject): object => ({
    ...(isMetadataOnly ? {} : fields),
    metadata,
    ...type,
  });
  if (name !== undefined) return { status: 200, body: format(cluster.require(kind.resource, name, namespace)) };
  if (query.has('watch')) {
    const since = Number(query.get('resourceVersion'));
    const watch: Watch = (send) =>
      cluster.watch(({ type, resource, object }) => {
        if (resource === kind.resource) send({ type, object: format(object) });
      }, since);
    return { watch };
  }
  // A server may ignore `limit` and return everything (k8s.io/apimachinery, apis/meta/v1, ListOptions).
  const items = cluster
    .list(kind.resource, namespace)
    .filter((object) => matchesSelectors(object, query))
    .map(format);
  const list = {
    kind: `${type.kind}List`,
    apiVersion: type.apiVersion,
    metadata: { resourceVersion: String(cluster.version) },
    // kube-apiserver sends null for an empty list of metadata.
    items: isMetadataOnly && items.length === 0 ? null : items,
  };
  return { status: 200, body: list };
}

function matchesSelectors({ metadata: { name, labels = {} } }: KubeObject, query: URLSearchParams): boolean {
  const terms = (query.get('labelSelector') ?? '').split(',').filter(Boolean);
  const field = query.get('fieldSelector') ?? `metadata.name=${name}`;
  return field === `metadata.name=${name}` && terms.every((term) => matchesLabel(labels, term));
}

const LABEL_TERM = /^(?<not>!)?(?<key>[\w./-]+)(?:=(?<value>[\w.-]*))?$/;

function matchesLabel(labels: Readonly<Record<string, string>>, term: string): boolean {
  const { not, key, value } = LABEL_TERM.exec(term)?.groups ?? {};
  if (key === undefined) throw new ApiError(400, 'BadRequest', `unable to parse requirement: "${term}"`);
  if (value !== undefined) return labels[key] === value;
  return (labels[key] === undefined) === (not !== undefined);
}

async function handleWrite(
  cluster: InMemoryCluster,
  { method, body, user = ADMIN_USER }: ClusterRequest,
  { kind, name, namespace, isStatus }: ResourcePath,
  query: URLSearchParams,
): Promise<ClusterResponse> {
  const { resource } = kind;
  const { dryRun = query.getAll('dryRun'), preconditions = {}, ...fields } = (body ?? {}) as RequestBody;
  // Options are checked before the object (k8s.io/apiserver, endpoints/handlers/delete.go).
  if (dryRun.some((value) => value !== 'All')) {
    const message = `dryRun: Unsupported value: ${JSON.stringify(dryRun)}: supported values: "All"`;
    throw new ApiError(422, 'Invalid', message);
  }
  const isDryRun = dryRun.length > 0;
  if (method === 'POST' && name === undefined) {
    const metadata = { ...fields.metadata, ...(namespace === '' ? {} : { namespace }) };
    return { status: 201, body: cluster.create(resource, { ...fields, metadata }, isDryRun) };
  }
  if (method === 'PATCH' && name !== undefined) {
    const patch = isStatus ? { status: fields.status } : fields;
    return { status: 200, body: cluster.patch(resource, name, patch, namespace, isDryRun) };
  }
  if (method !== 'DELETE' || name === undefined) throw new ApiError(405, 'MethodNotAllowed', 'not supported');
  const object = cluster.require(resource, name, namespace);
  const { uid = object.metadata.uid } = preconditions;
  if (uid !== object.metadata.uid) {
    const reason = `the UID in the precondition (${uid}) does not match the UID in record (${object.metadata.uid})`;
    throw createConflict(resource, name, reason);
  }
  const warnings = await askWebhooks(cluster, { kind, object, user, isDryRun });
  if (!isDryRun) cluster.erase(resource, name, namespace);
  return { status: 200, body: { ...STATUS, status: 'Success' }, warnings };
}
