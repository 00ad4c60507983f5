import type { ApiObject } from './api-object.ts';

/** A kind of object: how the API serves it and what is kept of each object. */
export interface Resource<Item extends { readonly name: string }> {
  readonly kind: string;
  /** The plural name, for people and for the audit log. */
  readonly name: string;
  /** Collections that may hold the objects, the preferred API version first. After a 404 the next one is tried. */
  readonly paths: readonly [string, ...string[]];
  /** If present, only the object with this name is listed and watched. */
  readonly objectName?: string;
  /** Whether a cluster can lack this kind. If so, a 404 everywhere means that there are no such objects. */
  readonly isOptional: boolean;
  readonly isMetadataOnly: boolean;
  /** All annotations that `parse` reads, if it reads only those and the name: a list skips everything else. */
  readonly annotations?: readonly string[];
  /** @throws MalformedObject */
  readonly parse: (object: ApiObject) => Item;
}

const METADATA_LIST = 'as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const METADATA_OBJECT = 'as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
/** Media type of protobuf (k8s.io/apimachinery, pkg/runtime/types.go). */
export const PROTOBUF_MEDIA_TYPE = 'application/vnd.kubernetes.protobuf';

/** The Accept header for a JSON list. A server that has no metadata-only form may send whole objects. */
export function acceptHeaderForList(isMetadataOnly: boolean): string {
  return isMetadataOnly ? `application/json;${METADATA_LIST},application/json` : 'application/json';
}

/** The Accept header for a list that is parsed while it streams: protobuf costs the API server half as much as JSON. */
export function acceptHeaderForStreamedList(isMetadataOnly: boolean): string {
  return isMetadataOnly
    ? `${PROTOBUF_MEDIA_TYPE};${METADATA_LIST},${acceptHeaderForList(true)}`
    : acceptHeaderForList(false);
}

/** The Accept header for one JSON object, and for the objects in watch events. */
export function acceptHeaderForObject(isMetadataOnly: boolean): string {
  return isMetadataOnly ? `application/json;${METADATA_OBJECT},application/json` : 'application/json';
}
