/** A file of a set that `render` or `certs rotate` writes. */
export interface OutputFile {
  readonly name: string;
  readonly content: string;
  /** Whether only its owner may read the file. */
  readonly secret: boolean;
}
