import type { ApiObject } from '../api-object.ts';
import { MalformedList } from '../errors.ts';

/** The type of an object. Its list is of the kind with the suffix `List`. */
export interface ObjectType {
  readonly apiVersion: string;
  readonly kind: string;
}

/** The type of every object in a metadata-only list, which does not state the type of the whole objects. */
export const METADATA: ObjectType = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata' };

interface JsonList extends Partial<Readonly<Record<'apiVersion' | 'kind', unknown>>> {
  readonly metadata?: { readonly resourceVersion?: unknown; readonly continue?: unknown } | null;
  readonly items?: unknown;
}

/**
 * Parses a list.
 *
 * @param expected the types of objects that the list may have
 * @throws MalformedList if the text is not one complete list of an expected type
 */
export function parseJsonList(
  text: string,
  expected: readonly ObjectType[],
): { readonly items: readonly ApiObject[]; readonly resourceVersion: string } {
  const list = parseJson(text);
  const type = expected.find(({ apiVersion, kind }) => list.apiVersion === apiVersion && list.kind === `${kind}List`);
  if (type === undefined) {
    throw new MalformedList(`the response is not a ${expected.map(({ kind }) => `${kind}List`).join(' or ')}`);
  }
  const { resourceVersion, continue: continueToken = '' } = list.metadata ?? {};
  if (continueToken !== '') throw new MalformedList('the list is one page of several');
  if (typeof resourceVersion !== 'string' || resourceVersion === '') {
    throw new MalformedList('the list has no resourceVersion');
  }
  // An empty metadata-only list has `"items":null`. Without the field it is no list.
  const items: unknown = list.items === null && type === METADATA ? [] : list.items;
  if (!Array.isArray(items)) throw new MalformedList('the list has no readable items');
  if (!items.every((item) => isOfType(item, type)))
    throw new MalformedList(`an item of the list is not a ${type.kind}`);
  return { items: items as readonly ApiObject[], resourceVersion };
}

function parseJson(text: string): JsonList {
  try {
    return (JSON.parse(text) ?? {}) as JsonList;
  } catch {
    throw new MalformedList('the list is incomplete or not JSON');
  }
}

/** The API server omits the type of each item from lists of its own kinds, but not of custom resources. */
function isOfType(item: unknown, type: ObjectType): boolean {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return false;
  const { apiVersion, kind } = item as JsonList;
  if (apiVersion === undefined && kind === undefined) return type !== METADATA;
  return apiVersion === type.apiVersion && kind === type.kind;
}
