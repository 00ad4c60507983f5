/** What a list says besides its items. */
export interface ListMetadata {
  readonly resourceVersion: string;
}

/** Parses a Kubernetes list whose bytes arrive in chunks, and passes on the items one by one. */
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
