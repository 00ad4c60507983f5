/** What a list says besides its items. */
export interface ListMetadata {
  readonly resourceVersion: string;
}

/** Parses a Kubernetes list while its bytes arrive, and passes on the items one by one. */
export interface ListParser {
  /**
   * Parses the next bytes, however the list is chunked.
   *
   * @throws MalformedList, or what the item handler throws
   */
  readonly write: (chunk: Buffer) => void;
  /**
   * Ends the list.
   *
   * @throws MalformedList if the bytes are not one complete Kubernetes list
   */
  readonly end: () => ListMetadata;
}

/** etcd rejects objects over 1.5 MiB. Their JSON, managed fields included, stays far below this. */
export const MAX_ITEM_BYTES = 8 * 1024 * 1024;
/** Everything besides the items. */
export const MAX_ENVELOPE_BYTES = 1024 * 1024;
