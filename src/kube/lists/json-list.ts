import { IncompleteJson, JsonReader } from '../../common/json-reader.ts';
import type { ApiObject } from '../api-object.ts';
import { MalformedList } from '../errors.ts';

/** The type of an object. Its list is of the kind with the suffix `List`. */
export interface ObjectType {
  readonly apiVersion: string;
  readonly kind: string;
}

/** The type of every object in a metadata-only list, which does not state the type of the whole objects. */
export const METADATA: ObjectType = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata' };

/**
 * Parses a list while it arrives, one item at a time. Its type can follow the items, so only `end` checks it.
 * Until then the items must not be used.
 */
export class JsonListParser {
  readonly #onItem: (item: ApiObject) => void;
  readonly #expected: readonly ObjectType[];
  /** They start with a member or an item that has not arrived in full. */
  #chunks: readonly Buffer[] = [];
  #bufferedBytes = 0;
  /** Doubles while a large item arrives, so that each byte is read few times. */
  #nextParseBytes = 0;
  #position: 'start' | 'members' | 'items' | 'end' = 'start';
  readonly #members = new Map<unknown, unknown>();
  /** The API server writes the type of all items or of none. Undefined before the first one. */
  #itemType: readonly unknown[] | undefined;

  /** @param expected the types of objects that the list may have */
  constructor(onItem: (item: ApiObject) => void, expected: readonly ObjectType[]) {
    this.#onItem = onItem;
    this.#expected = expected;
  }

  /** @throws MalformedList, or the error of the item handler */
  write(chunk: Buffer): void {
    this.#chunks = [...this.#chunks, chunk];
    this.#bufferedBytes += chunk.length;
    if (this.#bufferedBytes >= this.#nextParseBytes) this.#parse();
  }

  /**
   * Returns the resourceVersion.
   *
   * @throws MalformedList if the text is not one complete list of an expected type
   */
  end(): string {
    this.#parse();
    if (this.#position !== 'end') throw new MalformedList('the list is incomplete');
    const [listVersion, listKind] = ['apiVersion', 'kind'].map((key) => this.#members.get(key));
    const type = this.#expected.find(
      ({ apiVersion, kind }) => listVersion === apiVersion && listKind === `${kind}List`,
    );
    if (type === undefined) {
      throw new MalformedList(`the response is not a ${this.#expected.map(({ kind }) => `${kind}List`).join(' or ')}`);
    }
    // An empty metadata-only list has `"items":null`. Without the field it is no list.
    const items = this.#members.get('items');
    if (!Array.isArray(items) && (items !== null || type !== METADATA))
      throw new MalformedList('the list has no items');
    const [itemVersion, itemKind] = this.#itemType ?? [];
    const isTypeOmitted = type !== METADATA && itemVersion === undefined && itemKind === undefined;
    const isTypeExpected = itemVersion === type.apiVersion && itemKind === type.kind;
    if (this.#itemType !== undefined && !isTypeOmitted && !isTypeExpected) {
      throw new MalformedList(`an item of the list is not a ${type.kind}`);
    }
    const metadata = (this.#members.get('metadata') ?? {}) as { resourceVersion?: unknown; continue?: unknown };
    return checkListMetadata(metadata);
  }

  #parse(): void {
    const bytes = Buffer.concat(this.#chunks);
    const reader = new JsonReader(bytes);
    let end = 0;
    try {
      while (!reader.isAtEnd) {
        // The API server writes all commas, so their places are not checked.
        if (!reader.skipIf(',')) this.#parseNext(reader);
        end = reader.at;
      }
    } catch (error) {
      if (error instanceof SyntaxError && !(error instanceof IncompleteJson))
        throw new MalformedList('the list is not JSON');
      if (!(error instanceof IncompleteJson)) throw error;
    }
    this.#chunks = [bytes.subarray(end)];
    this.#bufferedBytes = bytes.length - end;
    this.#nextParseBytes = 2 * this.#bufferedBytes;
  }

  #parseNext(reader: JsonReader): void {
    if (this.#position === 'end') throw new SyntaxError('text follows the list');
    if (this.#position === 'start') {
      if (!reader.skipIf('{')) throw new SyntaxError('not an object');
      this.#position = 'members';
    } else if (this.#position === 'items') {
      if (reader.skipIf(']')) this.#position = 'members';
      else this.#addItem(reader.value());
    } else if (reader.skipIf('}')) {
      this.#position = 'end';
    } else {
      const key = reader.value();
      if (!reader.skipIf(':')) throw new SyntaxError('a key has no value');
      const isItems = key === 'items' && reader.skipIf('[');
      if (isItems) this.#position = 'items';
      this.#members.set(key, isItems ? [] : reader.value());
    }
  }

  #addItem(item: unknown): void {
    if (typeof item !== 'object' || item === null || Array.isArray(item))
      throw new MalformedList('an item of the list is not an object');
    const { apiVersion, kind } = item as { readonly apiVersion?: unknown; readonly kind?: unknown };
    this.#itemType ??= [apiVersion, kind];
    if (this.#itemType[0] !== apiVersion || this.#itemType[1] !== kind)
      throw new MalformedList('the items of the list have different types');
    this.#onItem(item);
  }
}

/** Returns the resourceVersion of a list. @throws MalformedList */
export function checkListMetadata(metadata: {
  readonly resourceVersion?: unknown;
  readonly continue?: unknown;
}): string {
  const { resourceVersion, continue: continueToken = '' } = metadata;
  if (continueToken !== '') throw new MalformedList('the list is one page of several');
  if (typeof resourceVersion !== 'string' || resourceVersion === '')
    throw new MalformedList('the list has no resourceVersion');
  return resourceVersion;
}
