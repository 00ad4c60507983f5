/** Parses a Kubernetes list whose bytes arrive in chunks. */
export interface ListParser {
  /** @throws MalformedList, or the error of the item handler */
  readonly write: (chunk: Buffer) => void;
  /** @throws MalformedList if the bytes are not one complete list of the expected type */
  readonly end: () => { readonly resourceVersion: string };
}

/** The type of an object. Its list is of the kind with the suffix `List`. */
export interface ObjectType {
  readonly apiVersion: string;
  readonly kind: string;
}

/** The type of every object in a metadata-only list, which does not state the type of the whole objects. */
export const METADATA: ObjectType = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata' };
