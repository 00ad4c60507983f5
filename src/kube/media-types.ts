/** Media type of protobuf (k8s.io/apimachinery, pkg/runtime/types.go). */
export const PROTOBUF_MEDIA_TYPE = 'application/vnd.kubernetes.protobuf';

/** The `accept` of metadata-only forms. A server that lacks them may send whole objects. */
const toMetadataForm = (kind: string): string => `as=${kind};g=meta.k8s.io;v=v1`;
const METADATA_LIST = toMetadataForm('PartialObjectMetadataList');
export const ACCEPT_METADATA = `application/json;${toMetadataForm('PartialObjectMetadata')},application/json`;
export const ACCEPT_METADATA_LIST = `application/json;${METADATA_LIST},application/json`;
/** Protobuf costs the API server half as much as JSON. */
export const ACCEPT_PROTOBUF_LIST = `${PROTOBUF_MEDIA_TYPE};${METADATA_LIST},${ACCEPT_METADATA_LIST}`;
