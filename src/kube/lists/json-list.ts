import { IncompleteJson, JsonReader } from '../../common/json-reader.ts';
import type { ApiObject } from '../api-object.ts';
import { MalformedList } from '../errors.ts';
import { ListParser, METADATA, type ObjectType } from './list-parser.ts';

/** Its type can follow the items, so only `end` checks it. Until then the items must not be used. */
export class JsonListParser extends ListParser {
  readonly #onItem: (item: ApiObject) => void;
  readonly #expected: readonly ObjectType[];
  #position: 'start' | 'members' | 'items' | 'end' = 'start';
  readonly #members = new Map<unknown, unknown>();
  /** The API server writes the type of all items or of none. Undefined before the first one. */
  #itemType: Partial<Record<keyof ObjectType, unknown>> | undefined;

  /** @param expected the types of objects that the list may have */
  constructor(onItem: (item: ApiObject) => void, expected: readonly ObjectType[]) {
    super();
    this.#onItem = onItem;
    this.#expected = expected;
  }

  protected override parse(bytes: Buffer): number {
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
      else this.#addItem(reader.value());
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
    const isObject = typeof item === 'object' && item !== null && !Array.isArray(item);
    if (!isObject) throw new MalformedList('an item of the list is not an object');
    const { apiVersion, kind } = item as Partial<Record<keyof ObjectType, unknown>>;
    this.#itemType ??= { apiVersion, kind };
    const isSame = this.#itemType.apiVersion === apiVersion && this.#itemType.kind === kind;
    if (!isSame) throw new MalformedList('the items of the list have different types');
    this.#onItem(item);
  }

  protected override finish() {
    const [version, kind, items] = ['apiVersion', 'kind', 'items'].map((key) => this.#members.get(key));
    const type = this.#expected.find((expected) => version === expected.apiVersion && kind === `${expected.kind}List`);
    const kinds = this.#expected.map((expected) => `${expected.kind}List`).join(' or ');
    if (this.#position !== 'end' || type === undefined) throw new MalformedList(`the response is not a ${kinds}`);
    // An empty metadata-only list has `"items":null`. Without the field it is no list.
    const hasItems = Array.isArray(items) || (items === null && type === METADATA);
    if (!hasItems) throw new MalformedList('the list has no items');
    const { apiVersion: itemVersion, kind: itemKind } = this.#itemType ?? type;
    const isOmitted = type !== METADATA && itemVersion === undefined && itemKind === undefined;
    if (!isOmitted && (itemVersion !== type.apiVersion || itemKind !== type.kind))
      throw new MalformedList(`an item of the list is not a ${type.kind}`);
    return this.#members.get('metadata') ?? {};
  }
}
