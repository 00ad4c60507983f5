import type { ApiObject } from '../api-object.ts';
import { MalformedList } from '../errors.ts';
import { JsonItemSplitter } from './json-item-splitter.ts';
import { type ListParser, METADATA, type ObjectType } from './list-parser.ts';

/** The fields of a list or an object that its type needs. */
interface Typed {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
}

interface Envelope extends Typed {
  readonly metadata?: { readonly resourceVersion?: unknown; readonly continue?: unknown } | null;
  readonly items?: unknown;
}

/**
 * Parses a JSON list item by item while it arrives. Parsed as a whole, 1,000 pools would hold the event loop for
 * 100 ms.
 */
export class JsonListParser implements ListParser {
  readonly #splitter: JsonItemSplitter;
  readonly #expected: readonly ObjectType[];
  #itemCount = 0;
  /** The types that the items state, of the form `v1 Node`. */
  readonly #itemTypes = new Set<string>();

  /** @param expected the types of objects that the list may have */
  constructor(onItem: (item: ApiObject) => void, expected: readonly ObjectType[]) {
    this.#expected = expected;
    this.#splitter = new JsonItemSplitter((text) => {
      const item = parseJson(text) as ApiObject & Typed;
      this.#itemCount += 1;
      this.#itemTypes.add(formatType(item));
      onItem(item);
    });
  }

  write(chunk: Buffer): void {
    this.#splitter.write(chunk);
  }

  end(): { resourceVersion: string } {
    const envelope = (parseJson(this.#splitter.end()) ?? {}) as Envelope;
    this.#checkTypes(envelope);
    const { resourceVersion, continue: continueToken = '' } = envelope.metadata ?? {};
    if (continueToken !== '') throw new MalformedList('the list is one page of several');
    if (typeof resourceVersion !== 'string' || resourceVersion === '') {
      throw new MalformedList('the list has no resourceVersion');
    }
    return { resourceVersion };
  }

  #checkTypes({ items, ...list }: Envelope): void {
    const type = this.#expected.find(
      ({ apiVersion, kind }) => list.apiVersion === apiVersion && list.kind === `${kind}List`,
    );
    if (type === undefined) {
      const wanted = this.#expected.map(({ kind }) => `${kind}List`).join(' or ');
      throw new MalformedList(`the response is not a ${wanted}`);
    }
    // An empty metadata-only list has `"items":null`. Without the field it is no list.
    const placeholders: unknown = items === null && type === METADATA ? [] : items;
    if (!Array.isArray(placeholders)) throw new MalformedList('the list has no readable items');
    if (placeholders.length !== this.#itemCount)
      throw new MalformedList('an item of the list is not an object');
    // The API server omits the type of each item from lists of its own kinds, but not of custom resources.
    if (type !== METADATA) this.#itemTypes.delete(formatType({}));
    this.#itemTypes.delete(formatType(type));
    if (this.#itemTypes.size > 0) throw new MalformedList(`an item of the list is not a ${type.kind}`);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new MalformedList('the list is incomplete or not JSON');
  }
}

function formatType({ apiVersion, kind }: Typed): string {
  return `${String(apiVersion)} ${String(kind)}`;
}
