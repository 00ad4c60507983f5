import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { toSeconds } from '../../../src/common/duration.ts';
import { MERGE_PATCH } from '../../../src/kube/api.ts';
import { ApiError } from '../../../src/kube/errors.ts';
import { askWebhooks } from './admission.ts';
import type { Change, InMemoryCluster, KubeObject, NewObject } from './in-memory-cluster.ts';
import { parseResourcePath, type ResourcePath, toApiVersion } from './kinds.ts';

export interface ClusterRequest {
  readonly method: string;
  readonly path: string;
  readonly accept?: string | undefined;
  /** Of the body. If it is undefined, a test has made the request itself. */
  readonly contentType?: string | undefined;
  readonly body?: unknown;
  readonly user?: string;
}

export const ADMIN_USER = 'system:admin';
const STATUS = { kind: 'Status', apiVersion: 'v1', metadata: {} };

/**
 * Handles a request as kube-apiserver does. Never rejects.
 * @returns a body of JSON, plain text if it is a string, or a stream of the events of a watch
 */
export async function handleRequest(
  cluster: InMemoryCluster,
  request: ClusterRequest,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const { pathname, searchParams: query } = new URL(request.path, 'https://cluster');
  const path = parseResourcePath(pathname);
  if (path === undefined) return { status: 404, body: '404 page not found\n' };
  try {
    if (request.method === 'GET') return { status: 200, body: read(cluster, request, path, query) };
    return { status: request.method === 'POST' ? 201 : 200, body: await write(cluster, request, path, query) };
  } catch (error) {
    const { status, reason, message } = error instanceof ApiError ? error : new ApiError(500, '', String(error));
    return { status, body: { ...STATUS, status: 'Failure', message, reason, code: status } };
  }
}

function read(
  cluster: InMemoryCluster,
  { accept = '' }: ClusterRequest,
  { kind, version, name, namespace }: ResourcePath,
  query: URLSearchParams,
): object {
  // Clients that accept metadata in protobuf also accept JSON.
  const isMetadataOnly = accept.includes('as=PartialObjectMetadata');
  const type = isMetadataOnly
    ? { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' }
    : { kind: kind.kind, apiVersion: toApiVersion(kind, version) };
  const format = (object: KubeObject): object =>
    isMetadataOnly ? { metadata: object.metadata, ...type } : { ...object, ...type };
  if (name !== undefined) return format(cluster.require(kind.resource, name, namespace));
  if (query.has('watch')) {
    const events = new PassThrough();
    const send = ({ type, resource, object }: Change): void => {
      if (resource === kind.resource) events.write(`${JSON.stringify({ type, object: format(object) })}\n`);
    };
    return events.on('close', cluster.watch(send, Number(query.get('resourceVersion'))));
  }
  // A server may ignore `limit` and return everything (k8s.io/apimachinery, apis/meta/v1, ListOptions).
  const selected = cluster.list(kind.resource, namespace).filter((object) => matchesSelectors(object, query));
  // kube-apiserver sends null for an empty list of metadata.
  const items = isMetadataOnly && selected.length === 0 ? null : selected.map(format);
  return { ...type, kind: `${type.kind}List`, metadata: { resourceVersion: String(cluster.version) }, items };
}

function matchesSelectors({ metadata: { name, labels = {} } }: KubeObject, query: URLSearchParams): boolean {
  const terms = (query.get('labelSelector') ?? '').split(',').filter(Boolean);
  const field = query.get('fieldSelector') ?? `metadata.name=${name}`;
  return field === `metadata.name=${name}` && terms.every((term) => matchesLabel(labels, term));
}

function matchesLabel(labels: Readonly<Record<string, string>>, term: string): boolean {
  const [, not, key, value] = /^(!)?([\w./-]+)(?:=([\w.-]*))?$/.exec(term) ?? [];
  if (key === undefined) throw new ApiError(400, 'BadRequest', `unable to parse requirement: "${term}"`);
  if (value !== undefined) return labels[key] === value;
  return (labels[key] === undefined) === (not !== undefined);
}

async function write(
  cluster: InMemoryCluster,
  { method, body, contentType = MERGE_PATCH, user = ADMIN_USER }: ClusterRequest,
  { kind, version, name = '', namespace, isStatus }: ResourcePath,
  query: URLSearchParams,
): Promise<object> {
  const { resource, group } = kind;
  const {
    dryRun = query.getAll('dryRun'),
    preconditions,
    ...fields
  } = (body ?? {}) as NewObject & Partial<DeleteOptions>;
  // Options are checked before the object (k8s.io/apiserver, endpoints/handlers/delete.go).
  if (dryRun.some((value) => value !== 'All')) {
    const values = dryRun.map((value) => JSON.stringify(value)).join(', ');
    const problem = `dryRun: Unsupported value: []string{${values}}: supported values: "All"`;
    throw new ApiError(422, 'Invalid', `DeleteOptions.meta.k8s.io "" is invalid: ${problem}`);
  }
  const isDryRun = dryRun.length > 0;
  if (method === 'POST') {
    assertApiVersion(fields['apiVersion'], toApiVersion(kind, version));
    const metadata = { ...fields.metadata, ...(namespace === '' ? {} : { namespace }) };
    const created = cluster.create(resource, { ...fields, metadata }, isDryRun);
    if (!isDryRun) return created;
    const { resourceVersion: _none, ...shown } = created.metadata;
    return { ...created, metadata: shown };
  }
  if (method === 'PATCH') {
    if (contentType !== MERGE_PATCH) throw new ApiError(415, 'UnsupportedMediaType', `not ${MERGE_PATCH}`);
    const { status, ...others } = fields;
    const isSplit = kind.hasStatus && 'status' in fields;
    const ofStatus = { metadata: fields.metadata ?? {}, ...(isSplit && { status }) };
    const ofObject = kind.hasStatus ? others : fields;
    const patch = isStatus ? ofStatus : ofObject;
    const { deletionTimestamp, finalizers = [] } = cluster.patch(resource, name, patch, namespace, true)
      .metadata as Terminating;
    if (deletionTimestamp === undefined || finalizers.length > 0)
      return cluster.patch(resource, name, patch, namespace, isDryRun);
    // The API server deletes an object with its last finalizer.
    const patched = cluster.patch(resource, name, patch, namespace, true);
    if (!isDryRun) cluster.erase(resource, name, namespace);
    return patched;
  }
  if (method !== 'DELETE') throw new ApiError(405, 'MethodNotAllowed', `${method} is not supported`);
  const oldObject = cluster.require(resource, name, namespace);
  assertPreconditions(oldObject, preconditions, group === '' ? kind.kind : `${kind.kind}.${group}`);
  await askWebhooks(cluster, {
    uid: randomUUID(),
    operation: 'DELETE',
    resource: { group, version, resource },
    name,
    userInfo: { username: user },
    oldObject,
    dryRun: isDryRun,
  });
  const { deletionTimestamp = toSeconds(new Date()), finalizers = [] } = oldObject.metadata as Terminating;
  if (finalizers.length > 0) {
    const metadata = { deletionTimestamp, deletionGracePeriodSeconds: 0 };
    return cluster.patch(resource, name, { metadata }, namespace, isDryRun);
  }
  if (!isDryRun) cluster.erase(resource, name, namespace);
  return { ...STATUS, status: 'Success' };
}

interface DeleteOptions {
  readonly dryRun: string[];
  readonly preconditions: { readonly uid?: string };
}

interface Terminating {
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
}

function assertApiVersion(sent: unknown, expected: string): void {
  if (typeof sent !== 'string' || sent === expected) return;
  const problem = `the API version in the data (${sent}) does not match the expected API version (${expected})`;
  throw new ApiError(400, 'BadRequest', problem);
}

function assertPreconditions({ metadata }: KubeObject, expected: { uid?: string } = {}, kind: string): void {
  const { name, uid } = metadata;
  if (expected.uid === undefined || expected.uid === uid) return;
  const problem = `the UID in the precondition (${expected.uid}) does not match the UID in record (${uid})`;
  const cause = 'The object might have been deleted and then recreated';
  throw new ApiError(409, 'Conflict', `Operation cannot be fulfilled on ${kind} "${name}": ${problem}. ${cause}`);
}
