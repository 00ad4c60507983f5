import { MalformedList } from '../errors.ts';
import { ByteQueue } from './byte-queue.ts';

/** etcd rejects objects over 1.5 MiB. */
const MAX_ITEM_BYTES = 8 * 1024 * 1024;
/** Limit for everything outside the items. */
const MAX_ENVELOPE_BYTES = 1024 * 1024;

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];
/** The depths inside the array of items, and inside an item. */
const [ITEMS_DEPTH, ITEM_DEPTH] = [2, 3];
/** The text before the first item, which may contain spaces. */
const ITEMS_START = /[{,]\s*"items"\s*:\s*\[$/;
/** Otherwise the items count as part of the envelope, which makes the list malformed. */
const MAX_ITEMS_START_BYTES = 64;

/**
 * Splits a JSON list into its items and its envelope while it arrives. It only finds where an item ends. What it
 * passes on, JSON.parse must check.
 */
export class JsonItemSplitter {
  readonly #onItem: (text: string) => void;
  /** The bytes since the last item started or ended. */
  readonly #queue = new ByteQueue();
  /** How many of them have been read. */
  #offset = 0;
  #isInText = false;
  #depth = 0;
  #hasItems = false;
  #isInItems = false;
  #isInItem = false;
  #envelope = '';

  constructor(onItem: (text: string) => void) {
    this.#onItem = onItem;
  }

  /** @throws MalformedList, or the error of the item handler */
  write(chunk: Buffer): void {
    this.#queue.push(chunk);
    let { bytes } = this.#queue;
    while (this.#offset < bytes.length) {
      const byte = bytes[this.#offset];
      this.#offset += 1;
      if (this.#isInText) {
        // An escaped character can be a quote.
        if (byte === BACKSLASH) this.#offset += 1;
        else if (byte === QUOTE) this.#isInText = false;
      } else if (byte === QUOTE) {
        this.#isInText = true;
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        this.#open(byte);
        ({ bytes } = this.#queue);
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        this.#close();
        ({ bytes } = this.#queue);
      }
    }
    const limit = this.#isInItem ? MAX_ITEM_BYTES : MAX_ENVELOPE_BYTES - this.#envelope.length;
    if (bytes.length > limit) throw new MalformedList('a part of the list is too large');
  }

  /** Returns the text of the list with a `0` in place of each item. */
  end(): string {
    return this.#envelope + this.#take(this.#queue.length);
  }

  #open(byte: number): void {
    this.#depth += 1;
    if (this.#depth === ITEMS_DEPTH && byte === OPEN_BRACKET) {
      const start = Math.max(0, this.#offset - MAX_ITEMS_START_BYTES);
      if (!ITEMS_START.test(this.#queue.bytes.toString('latin1', start, this.#offset))) return;
      if (this.#hasItems) throw new MalformedList('the list has its items twice');
      this.#hasItems = true;
      this.#isInItems = true;
    } else if (this.#depth === ITEM_DEPTH && byte === OPEN_BRACE && this.#isInItems) {
      this.#envelope += `${this.#take(this.#offset - 1)}0`;
      this.#isInItem = true;
    }
  }

  #close(): void {
    this.#depth -= 1;
    if (this.#depth === ITEMS_DEPTH && this.#isInItem) {
      this.#isInItem = false;
      this.#onItem(this.#take(this.#offset));
    } else if (this.#depth < ITEMS_DEPTH) {
      this.#isInItems = false;
    }
  }

  #take(length: number): string {
    const text = this.#queue.bytes.toString('utf8', 0, length);
    this.#queue.consume(length);
    this.#offset -= length;
    return text;
  }
}
