/** Parses a Kubernetes list whose bytes arrive in chunks. */
export interface ListParser {
  /** @throws MalformedList, or the error of the item handler */
  readonly write: (chunk: Buffer) => void;
  /** @throws MalformedList if the bytes are not one complete Kubernetes list */
  readonly end: () => { readonly resourceVersion: string };
}
