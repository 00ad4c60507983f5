import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { ApiError } from '../../../src/kube/errors.ts';
import { askWebhooks } from './admission.ts';
import type { Change, InMemoryCluster, KubeObject, NewObject } from './in-memory-cluster.ts';
import { parseResourcePath, type ResourcePath, toApiVersion } from './kinds.ts';

export interface ClusterRequest {
  readonly method: string;
  readonly path: string;
  readonly accept?: string | undefined;
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
  { method, body, user = ADMIN_USER }: ClusterRequest,
  { kind, version, name = '', namespace }: ResourcePath,
  query: URLSearchParams,
): Promise<object> {
  const { resource, group } = kind;
  const { dryRun = query.getAll('dryRun'), ...fields } = (body ?? {}) as NewObject & { readonly dryRun?: string[] };
  // Options are checked before the object (k8s.io/apiserver, endpoints/handlers/delete.go).
  if (dryRun.some((value) => value !== 'All')) {
    throw new ApiError(422, 'Invalid', `dryRun: Unsupported value: ${dryRun.join()}: supported values: "All"`);
  }
  const isDryRun = dryRun.length > 0;
  if (method === 'POST') {
    const metadata = { ...fields.metadata, ...(namespace === '' ? {} : { namespace }) };
    return cluster.create(resource, { ...fields, metadata }, isDryRun);
  }
  if (method === 'PATCH') return cluster.patch(resource, name, fields, namespace, isDryRun);
  if (method !== 'DELETE') throw new ApiError(405, 'MethodNotAllowed', `${method} is not supported`);
  await askWebhooks(cluster, {
    uid: randomUUID(),
    operation: 'DELETE',
    resource: { group, version, resource },
    name,
    userInfo: { username: user },
    oldObject: cluster.require(resource, name, namespace),
    dryRun: isDryRun,
  });
  if (!isDryRun) cluster.erase(resource, name, namespace);
  return { ...STATUS, status: 'Success' };
}
