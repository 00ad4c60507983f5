import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './json-bytes.ts';

/** What a list says beside its items. */
export interface ListMetadata {
  readonly resourceVersion: string;
}

/** Takes the bytes of a list as they arrive and hands on its items one by one. */
export interface ListParser {
  /** Takes the next bytes, of any number. Throws a BrokenList, or whatever the item handler throws. */
  readonly write: (chunk: Buffer) => void;
  /** There are no more bytes. Throws a BrokenList where they were not a whole list. */
  readonly end: () => ListMetadata;
}

/** The bytes are not one complete list. What was read of it proves nothing. */
export class MalformedList extends Error {
  override readonly name = 'BrokenList';
}

/** etcd refuses objects over 1.5 MiB; their JSON, managed fields included, stays well below this. */
export const MAX_ITEM_BYTES = 8 * 1024 * 1024;
/** Everything around the items. */
export const MAX_ENVELOPE_BYTES = 1024 * 1024;

/** Depth inside the list's own object, and inside its `items`. */
const TOP = 1;
const ITEMS = 2;

/**
 * Takes a Kubernetes list apart while it arrives: each item is parsed by itself and can be forgotten at once, so that
 * 5,000 nodes of 11 kB cost the memory of one, and no single parse blocks the event loop.
 *
 * It finds the limits of the items only; the items and what is around them go through JSON.parse. A list that is cut
 * short, continued elsewhere, or no list, is an error at {@link end}.
 */
export class JsonListParser implements ListParser {
  readonly #onItem: (item: unknown) => void;
  /** The bytes outside the items, which form a small list of their own. */
  readonly #envelope: Buffer[] = [];
  #envelopeLength = 0;
  /** The bytes of the item that has begun. */
  #item: Buffer[] = [];
  #itemLength = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #inItems = false;
  /** The last string at the top level, while it may turn out to be a key. */
  #topString: number[] = [];
  #key = '';

  constructor(onItem: (item: unknown) => void) {
    this.#onItem = onItem;
  }

  /**
   * Takes the next bytes, of any number.
   *
   * @throws BrokenList, or whatever the item handler throws
   */
  write(chunk: Buffer): void {
    // Everything from `from` on belongs to what the state says: an item that has begun, or the envelope.
    let from = 0;
    let at = 0;
    let nextBackslash = -1;
    while (at < chunk.length) {
      if (this.#inString) {
        if (this.#escaped) {
          this.#keepTopString(chunk, at, at + 1);
          this.#escaped = false;
          at += 1;
          continue;
        }
        if (nextBackslash < at) nextBackslash = indexOrEnd(chunk, BACKSLASH, at);
        const quote = indexOrEnd(chunk, QUOTE, at);
        const stop = Math.min(quote, nextBackslash);
        this.#keepTopString(chunk, at, stop);
        if (stop < chunk.length) {
          if (stop === quote) this.#inString = false;
          else this.#escaped = true;
        }
        at = stop + 1;
        continue;
      }
      const byte = chunk[at];
      if (byte === QUOTE) {
        this.#inString = true;
        if (this.#depth === TOP) this.#topString = [];
      } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (this.#inItems && this.#depth === ITEMS) {
          this.#keepEnvelope(chunk, from, at);
          from = at;
        }
        if (byte === OPEN_ARRAY && this.#depth === TOP && this.#key === 'items') this.#inItems = true;
        this.#depth += 1;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        this.#depth -= 1;
        if (this.#inItems && this.#depth === ITEMS) {
          this.#keepItem(chunk, from, at + 1);
          this.#finishItem();
          from = at + 1;
        } else if (this.#depth === TOP) {
          this.#inItems = false;
        }
      } else if (byte === COLON && this.#depth === TOP) {
        this.#key = Buffer.from(this.#topString).toString('utf8');
      } else if (byte === COMMA && this.#inItems && this.#depth === ITEMS) {
        // The commas between items go with them; without the items they would not be JSON.
        this.#keepEnvelope(chunk, from, at);
        from = at + 1;
      }
      at += 1;
    }
    if (this.#inItems && this.#depth > ITEMS) this.#keepItem(chunk, from, chunk.length);
    else this.#keepEnvelope(chunk, from, chunk.length);
  }

  /**
   * The list is complete as far as the sender is concerned.
   *
   * @throws BrokenList where it is not a whole Kubernetes list
   */
  end(): ListMetadata {
    let list: { kind?: unknown; metadata?: { resourceVersion?: unknown; continue?: unknown } | null; items?: unknown };
    try {
      list = JSON.parse(Buffer.concat(this.#envelope).toString('utf8')) as typeof list;
    } catch {
      throw new MalformedList('the list is incomplete or not JSON');
    }
    if (typeof list !== 'object' || list === null || typeof list.kind !== 'string' || !list.kind.endsWith('List')) {
      throw new MalformedList('the answer is not a list');
    }
    // An empty metadata-only list says `"items":null`; a list without the field is none.
    if (list.items !== null && !(Array.isArray(list.items) && list.items.length === 0)) {
      throw new MalformedList('the list has no readable items');
    }
    const more = list.metadata?.continue;
    if (more !== undefined && more !== '') throw new MalformedList('the list is only a page of a longer one');
    const resourceVersion = list.metadata?.resourceVersion;
    if (typeof resourceVersion !== 'string' || resourceVersion === '') {
      throw new MalformedList('the list has no resourceVersion');
    }
    return { resourceVersion };
  }

  #finishItem(): void {
    const bytes = this.#item.length === 1 ? this.#item[0] : Buffer.concat(this.#item);
    this.#item = [];
    this.#itemLength = 0;
    let item: unknown;
    try {
      item = JSON.parse(bytes?.toString('utf8') ?? '');
    } catch {
      throw new MalformedList('an item of the list is not JSON');
    }
    this.#onItem(item);
  }

  #keepItem(chunk: Buffer, from: number, to: number): void {
    this.#itemLength += to - from;
    if (this.#itemLength > MAX_ITEM_BYTES) throw new MalformedList('an item of the list is too large');
    if (to > from) this.#item.push(chunk.subarray(from, to));
  }

  #keepEnvelope(chunk: Buffer, from: number, to: number): void {
    this.#envelopeLength += to - from;
    if (this.#envelopeLength > MAX_ENVELOPE_BYTES) throw new MalformedList('the list has too much around its items');
    // Copied: a slice would keep its whole chunk alive until the end of the list.
    if (to > from) this.#envelope.push(Buffer.from(chunk.subarray(from, to)));
  }

  #keepTopString(chunk: Buffer, from: number, to: number): void {
    if (this.#depth !== TOP || this.#topString.length > 64) return;
    for (const byte of chunk.subarray(from, Math.min(to, from + 65))) this.#topString.push(byte);
  }
}

function indexOrEnd(chunk: Buffer, byte: number, from: number): number {
  const index = chunk.indexOf(byte, from);
  return index === -1 ? chunk.length : index;
}
