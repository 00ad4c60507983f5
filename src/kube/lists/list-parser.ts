import { formatMebibytes } from '../../common/printable-text.ts';
import { MalformedList } from '../errors.ts';
import { IncompleteJson, JsonReader, type WantedMembers } from '../../common/json-reader.ts';
import type { ApiObject } from '../api-object.ts';

/** The type of an object. */
export interface ObjectType {
  readonly apiVersion: string;
  readonly kind: string;
}

/** The type of every object in a metadata-only list, which does not state the type of the whole objects. */
export const METADATA: ObjectType = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata' };

const INITIAL_BYTES = 64 * 1024;
/** No cluster has a tenth of this. An endless list would use up the memory. */
const MAX_ITEMS = 50_000;
/** etcd rejects objects over 1.5 MiB, and JSON can escape characters. */
const MAX_PART_BYTES = 8 * 1024 * 1024;

/** Parses a list while it arrives: 5,000 nodes have 30 MB. It keeps only the part that has not arrived in full. */
export abstract class ListParser {
  /** How many items there were so far, parsed or not. */
  itemCount = 0;
  /** Concatenating chunks would allocate twice the size of the list. */
  #buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  #length = 0;
  /** Doubles while a large part arrives, so that its start is parsed few times. */
  #minLength = 0;

  /** Adds what has arrived. To parse each chunk would take longer than to parse several at once. */
  write(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) this.#buffer = Buffer.concat([this.#buffer], 2 * length);
    chunk.copy(this.#buffer, this.#length);
    this.#length = length;
  }

  /** Parses what was written. @throws MalformedList, or the error of the item handler */
  parse(): void {
    if (this.#length < this.#minLength) return;
    this.#parse(false);
    if (this.#length > MAX_PART_BYTES)
      throw new MalformedList(`a part of the list is larger than ${formatMebibytes(MAX_PART_BYTES)}`);
    this.#minLength = Math.min(2 * this.#length, MAX_PART_BYTES);
  }

  /**
   * Parses the rest, and returns the resourceVersion.
   * @throws MalformedList if this was not one complete list of the expected type, or the error of the item handler
   */
  end(): string {
    this.#parse(true);
    if (this.#length > 0) throw new MalformedList('the list is incomplete');
    const { resourceVersion, continue: continueToken = '' } = this.finish();
    if (continueToken !== '') throw new MalformedList('the list is one page of several');
    if (typeof resourceVersion === 'string' && resourceVersion !== '') return resourceVersion;
    throw new MalformedList('the list has no resourceVersion');
  }

  /** @throws MalformedList if there are too many */
  protected countItem(): void {
    this.itemCount += 1;
    if (this.itemCount > MAX_ITEMS) throw new MalformedList(`the list has more than ${MAX_ITEMS} items`);
  }

  /** Parses the parts that have arrived in full, and returns where the next one starts. */
  protected abstract parseParts(bytes: Buffer, isEnd: boolean): number;

  protected abstract finish(): { readonly resourceVersion?: unknown; readonly continue?: unknown };

  #parse(isEnd: boolean): void {
    const end = this.parseParts(this.#buffer.subarray(0, this.#length), isEnd);
    this.#buffer.copyWithin(0, end, this.#length);
    this.#length -= end;
  }
}

/** Its type can follow the items, so only `end` checks it. Until then the items must not be used. */
export class JsonListParser extends ListParser {
  readonly #onItem: (item: ApiObject) => void;
  readonly #expected: readonly ObjectType[];
  readonly #wanted: WantedMembers;
  #position: 'start' | 'members' | 'items' | 'end' = 'start';
  readonly #members = new Map<unknown, unknown>();
  /** The API server writes the type of all items or of none. Undefined before the first one. */
  #itemType: Partial<Record<keyof ObjectType, unknown>> | undefined;

  /**
   * @param expected the types of objects that the list may have
   * @param wanted the members of its items that are parsed, besides those of their type
   */
  constructor(
    onItem: (item: ApiObject) => void,
    expected: readonly ObjectType[],
    wanted: Readonly<Record<string, WantedMembers>> | 'whole' = 'whole',
  ) {
    super();
    this.#onItem = onItem;
    this.#expected = expected;
    this.#wanted = wanted === 'whole' ? wanted : { apiVersion: true, kind: true, ...wanted };
  }

  protected override parseParts(bytes: Buffer): number {
    const reader = new JsonReader(bytes);
    let end = 0;
    try {
      while (!reader.isAtEnd) {
        // The API server writes all commas, so their places are not checked.
        if (!reader.skipIf(',')) this.#parseNext(reader);
        end = reader.at;
      }
      return reader.at;
    } catch (error) {
      if (error instanceof IncompleteJson) return end;
      throw error instanceof SyntaxError ? new MalformedList('the list is not JSON') : error;
    }
  }

  #parseNext(reader: JsonReader): void {
    if (this.#position === 'end') throw new SyntaxError('text follows the list');
    if (this.#position === 'start') {
      if (!reader.skipIf('{')) throw new SyntaxError('not an object');
      this.#position = 'members';
    } else if (this.#position === 'items') {
      if (reader.skipIf(']')) this.#position = 'members';
      else this.#addItem(reader.members(this.#wanted));
    } else if (reader.skipIf('}')) {
      this.#position = 'end';
    } else {
      const key = reader.value();
      if (!reader.skipIf(':')) throw new SyntaxError('a key has no value');
      const isItems = key === 'items' && reader.skipIf('[');
      this.#members.set(key, isItems ? [] : reader.value());
      if (isItems) this.#position = 'items';
    }
  }

  #addItem(item: unknown): void {
    this.countItem();
    const isObject = typeof item === 'object' && item !== null && !Array.isArray(item);
    if (!isObject) throw new MalformedList('an item of the list is not an object');
    const { apiVersion, kind } = item as Partial<Record<keyof ObjectType, unknown>>;
    this.#itemType ??= { apiVersion, kind };
    const isSame = this.#itemType.apiVersion === apiVersion && this.#itemType.kind === kind;
    if (!isSame) throw new MalformedList('the items of the list have different types');
    this.#onItem(item);
  }

  protected override finish() {
    const version = this.#members.get('apiVersion');
    const kind = this.#members.get('kind');
    const type = this.#expected.find((each) => version === each.apiVersion && kind === toListKind(each));
    const kinds = this.#expected.map(toListKind).join(' or ');
    if (this.#position !== 'end' || type === undefined) throw new MalformedList(`the response is not a ${kinds}`);
    const items = this.#members.get('items');
    // An empty metadata-only list has `"items":null`. Without the field it is no list.
    const isMetadata = type.kind === METADATA.kind;
    const hasItems = Array.isArray(items) || (items === null && isMetadata);
    if (!hasItems) throw new MalformedList('the list has no items');
    const { apiVersion: itemVersion, kind: itemKind } = this.#itemType ?? type;
    const isOmitted = !isMetadata && itemVersion === undefined && itemKind === undefined;
    if (!isOmitted && (itemVersion !== type.apiVersion || itemKind !== type.kind))
      throw new MalformedList(`an item of the list is not a ${type.kind}`);
    return this.#members.get('metadata') ?? {};
  }
}

function toListKind({ kind }: ObjectType): string {
  return `${kind}List`;
}
