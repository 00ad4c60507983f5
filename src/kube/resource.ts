import type { ApiObject } from './api-object.ts';

/** How the API serves a kind, and how its objects are parsed. */
export interface Resource<Item extends { readonly name: string }> {
  readonly kind: string;
  /** The plural name, for messages and the audit log. */
  readonly name: string;
  /** One collection for each API version, the preferred one first. A 404 leads to the next. */
  readonly paths: readonly [string, ...string[]];
  /** Whether a cluster can lack this kind. */
  readonly isOptional: boolean;
  readonly isMetadataOnly: boolean;
  /**
   * If present, `parse` reads only name, creationTimestamp and these annotations of an object that has one of them. A
   * list skips the rest.
   */
  readonly annotations?: readonly string[];
  /** @throws MalformedObject */
  readonly parse: (object: ApiObject) => Item;
}

const METADATA_LIST = 'as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const METADATA_OBJECT = 'as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
/** Media type of protobuf (k8s.io/apimachinery, pkg/runtime/types.go). */
export const PROTOBUF_MEDIA_TYPE = 'application/vnd.kubernetes.protobuf';

/** A server without a metadata-only form may send whole objects. */
export function acceptHeaderForList(isMetadataOnly: boolean): string {
  return isMetadataOnly ? `application/json;${METADATA_LIST},application/json` : 'application/json';
}

/** Protobuf costs the API server half as much as JSON. */
export function acceptHeaderForStreamedList(isMetadataOnly: boolean): string {
  return isMetadataOnly
    ? `${PROTOBUF_MEDIA_TYPE};${METADATA_LIST},${acceptHeaderForList(true)}`
    : acceptHeaderForList(false);
}

/** Also for the objects in watch events. */
export function acceptHeaderForObject(isMetadataOnly: boolean): string {
  return isMetadataOnly ? `application/json;${METADATA_OBJECT},application/json` : 'application/json';
}

/** Whether `a` is older than `b`, or no number although `b` is one. Etcd counts resource versions upwards. */
export function isOlderVersion(a: string, b: string): boolean {
  return isNumber(b) && (!isNumber(a) || BigInt(a) < BigInt(b));
}

export function isNumber(version: string): boolean {
  return /^\d{1,20}$/.test(version);
}

/** The path of a list or a watch. */
export function toListPath(collection: string, query: Readonly<Record<string, string>>): string {
  const search = new URLSearchParams(query).toString();
  return search === '' ? collection : `${collection}?${search}`;
}
