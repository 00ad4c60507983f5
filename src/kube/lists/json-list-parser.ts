import type { ApiObject } from '../api-object.ts';
import { MalformedList } from '../errors.ts';
import type { ListParser } from './list-parser.ts';

/** A thousand pools are 10 MiB. Nodes and MachineConfigs arrive as protobuf. */
const MAX_LIST_BYTES = 64 * 1024 * 1024;

/** Parses a JSON list as a whole, once it has arrived. */
export class JsonListParser implements ListParser {
  readonly #onItem: (item: ApiObject) => void;
  readonly #chunks: Buffer[] = [];
  #length = 0;

  constructor(onItem: (item: ApiObject) => void) {
    this.#onItem = onItem;
  }

  write(chunk: Buffer): void {
    this.#length += chunk.length;
    if (this.#length > MAX_LIST_BYTES) throw new MalformedList('the list is too large');
    this.#chunks.push(chunk);
  }

  end(): { resourceVersion: string } {
    const { kind, metadata, items } = parseEnvelope(Buffer.concat(this.#chunks).toString('utf8'));
    if (typeof kind !== 'string' || !kind.endsWith('List'))
      throw new MalformedList('the response is not a list');
    // An empty metadata-only list has `"items":null`. Without the field it is no list.
    if (items !== null && !Array.isArray(items)) throw new MalformedList('the list has no readable items');
    const { resourceVersion, continue: continueToken = '' } = metadata ?? {};
    if (continueToken !== '') throw new MalformedList('the list is one page of several');
    if (typeof resourceVersion !== 'string' || resourceVersion === '') {
      throw new MalformedList('the list has no resourceVersion');
    }
    for (const item of (items ?? []) as readonly unknown[]) {
      if (typeof item !== 'object' || item === null)
        throw new MalformedList('an item of the list is not an object');
      this.#onItem(item);
    }
    return { resourceVersion };
  }
}

function parseEnvelope(text: string): {
  readonly kind?: unknown;
  readonly metadata?: { readonly resourceVersion?: unknown; readonly continue?: unknown } | null;
  readonly items?: unknown;
} {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    throw new MalformedList('the list is incomplete or not JSON');
  }
  return typeof list === 'object' && list !== null ? list : {};
}
