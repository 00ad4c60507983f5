import { MalformedList } from '../errors.ts';

/** The type of an object. Its list is of the kind with the suffix `List`. */
export interface ObjectType {
  readonly apiVersion: string;
  readonly kind: string;
}

/** The type of every object in a metadata-only list, which does not state the type of the whole objects. */
export const METADATA: ObjectType = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata' };

const INITIAL_BYTES = 64 * 1024;
/** etcd rejects objects over 1.5 MiB, and JSON can escape characters. */
const MAX_PART_BYTES = 8 * 1024 * 1024;

/** Parses a list while it arrives: 5,000 nodes have 30 MB. It keeps only the part that has not arrived in full. */
export abstract class ListParser {
  /** Concatenating chunks would allocate twice the size of the list. */
  #buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  #length = 0;
  /** Doubles while a large part arrives, so that its start is parsed few times. */
  #minLength = 0;

  /** @throws MalformedList, or the error of the item handler */
  write(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) this.#buffer = Buffer.concat([this.#buffer], 2 * length);
    chunk.copy(this.#buffer, this.#length);
    this.#length = length;
    if (length < this.#minLength) return;
    this.#parse(false);
    if (this.#length > MAX_PART_BYTES) throw new MalformedList('a part of the list is too large');
    this.#minLength = Math.min(2 * this.#length, MAX_PART_BYTES);
  }

  /**
   * Returns the resourceVersion.
   *
   * @throws MalformedList if this was not one complete list of the expected type
   */
  end(): string {
    this.#parse(true);
    if (this.#length > 0) throw new MalformedList('the list is incomplete');
    const { resourceVersion, continue: continueToken = '' } = this.finish();
    if (continueToken !== '') throw new MalformedList('the list is one page of several');
    if (typeof resourceVersion === 'string' && resourceVersion !== '') return resourceVersion;
    throw new MalformedList('the list has no resourceVersion');
  }

  /** Parses the parts that have arrived in full, and returns where the next one starts. */
  protected abstract parse(bytes: Buffer, isEnd: boolean): number;

  /** Checks the list, and returns its metadata. */
  protected abstract finish(): { readonly resourceVersion?: unknown; readonly continue?: unknown };

  #parse(isEnd: boolean): void {
    const end = this.parse(this.#buffer.subarray(0, this.#length), isEnd);
    this.#buffer.copyWithin(0, end, this.#length);
    this.#length -= end;
  }
}
