import type { KubeObject } from './kube-object.ts';
import { apiVersion, type Kind } from './kinds.ts';
import { StatusError } from './status-error.ts';

/** What a client wants to see of an object: all of it, or its metadata alone. */
export type Form = 'full' | 'metadata';

/** How the answer is used: it decides which metadata-only kind the client must have asked for. */
export type Shape = 'object' | 'list' | 'watch';

const META = 'meta.k8s.io/v1';

/**
 * Chooses among what the client accepts, in its order, as k8s.io/apiserver (endpoints/handlers/negotiation) does. A form
 * that the sandbox does not have (protobuf, tables) is passed over. Throws a 406 where nothing is left.
 */
export function negotiate(accept: string | undefined, shape: Shape): Form {
  const wanted = shape === 'list' ? 'PartialObjectMetadataList' : 'PartialObjectMetadata';
  for (const clause of (accept ?? '*/*').split(',')) {
    const [type = '', ...rest] = clause.split(';').map((part) => part.trim());
    const parameters = new Map(rest.map((part) => part.split('=', 2) as [string, string]));
    if (!['application/json', 'application/*', '*/*', ''].includes(type)) continue;
    const as = parameters.get('as');
    if (as === undefined) return 'full';
    if (as === wanted && parameters.get('g') === 'meta.k8s.io' && parameters.get('v') === 'v1') return 'metadata';
  }
  throw new StatusError(
    406,
    'NotAcceptable',
    'only the following media types are accepted: application/json, application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
  );
}

/** One object in the form asked for. */
export function shown(object: KubeObject, kind: Kind, version: string, form: Form): unknown {
  if (form === 'metadata') return { kind: 'PartialObjectMetadata', apiVersion: META, metadata: object.metadata };
  return { ...object, apiVersion: apiVersion(kind, version), kind: kind.kind };
}

/** What a list says of itself. */
export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** A list in the form asked for. An empty metadata-only list has `"items":null`, a typed one `[]`. */
export function shownList(
  objects: readonly KubeObject[],
  kind: Kind,
  version: string,
  form: Form,
  metadata: ListMeta,
): unknown {
  if (form === 'metadata') {
    const items = objects.length === 0 ? null : objects.map((object) => shown(object, kind, version, form));
    return { kind: 'PartialObjectMetadataList', apiVersion: META, metadata, items };
  }
  return {
    kind: `${kind.kind}List`,
    apiVersion: apiVersion(kind, version),
    metadata,
    items: objects.map((object) => (kind.builtIn ? withoutType(object) : shown(object, kind, version, form))),
  };
}

/** A bookmark carries nothing but the version up to which the watch has seen everything. */
export function bookmark(kind: Kind, version: string, form: Form, resourceVersion: number): unknown {
  const metadata = { resourceVersion: String(resourceVersion), creationTimestamp: null };
  return form === 'metadata'
    ? { kind: 'PartialObjectMetadata', apiVersion: META, metadata }
    : { kind: kind.kind, apiVersion: apiVersion(kind, version), metadata };
}

/** Items of a compiled-in kind know what they are from their list. */
function withoutType({ apiVersion: _apiVersion, kind: _kind, ...rest }: KubeObject): unknown {
  return rest;
}
