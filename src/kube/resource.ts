import type { Referrer, ReferrerKind } from '../decision/references.ts';
import type { ApiObject } from './api-object.ts';

/** A kind of object, what is kept of it, and how the API serves it. By default one that references are read from. */
export interface Resource<Kept extends { readonly name: string } = Referrer> {
  readonly kind: ReferrerKind | 'MachineConfig';
  /** The resource's name, for people and for the audit log. */
  readonly name: string;
  /** Collections that may hold the objects, the preferred API version first. A 404 leads on to the next. */
  readonly paths: readonly string[];
  /** May a cluster do without this kind? Then 404 everywhere means "no such references". */
  readonly isOptional: boolean;
  readonly isMetadataOnly: boolean;
  /** All annotations that `read` looks at, where it looks at nothing else but the name: what a list can leave unread. */
  readonly annotations?: readonly string[];
  readonly parse: (object: ApiObject) => Kept;
}

const METADATA_LIST = 'as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
/** Media type of protobuf (k8s.io/apimachinery, pkg/runtime/types.go). */
export const PROTOBUF_MEDIA_TYPE = 'application/vnd.kubernetes.protobuf';

/** Asks for a list in the form that the source needs; a server that cannot cut it down may send whole objects. */
export function acceptHeaderForList(metadataOnly: boolean): string {
  return metadataOnly ? `application/json;${METADATA_LIST},application/json` : 'application/json';
}

/** The same for a list that is read as it streams, with protobuf first: half the work for the API server. */
export function acceptHeaderForStreamedList(metadataOnly: boolean): string {
  return metadataOnly
    ? `${PROTOBUF_MEDIA_TYPE};${METADATA_LIST},${acceptHeaderForList(true)}`
    : acceptHeaderForList(false);
}

/** The JSON form for single objects and for the objects in watch events. */
export function acceptHeaderForObject(metadataOnly: boolean): string {
  return metadataOnly
    ? 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'
    : 'application/json';
}
