import type { WantedMembers } from '../common/json-reader.ts';
import { objectPath } from './api-paths.ts';
import type { ApiObject } from './api-object.ts';
import type { KubeApi, Purpose } from './api.ts';
import { isAbsent, isNotFound } from './errors.ts';
import type { ObjectFilter } from './lists/protobuf-list-parser.ts';
import { ACCEPT_METADATA } from './media-types.ts';

/** A kind of objects that the API server lists, and how to parse them. */
export interface Resource<Item extends { readonly name: string }> {
  readonly kind: string;
  /** The plural name, for messages and the audit log. */
  readonly name: string;
  /** One collection for each API version, the preferred one first. A 404 leads to the next. */
  readonly paths: readonly [string, ...string[]];
  readonly isMetadataOnly?: boolean | undefined;
  /** The parts of an object that a list in JSON parses. By default all. */
  readonly wanted?: Readonly<Record<string, WantedMembers>>;
  /** Whether the objects have namespaces, although the collection is that of all namespaces. */
  readonly isNamespaced?: boolean | undefined;
  /** Whether every cluster serves it, so that a 404 is always an error. */
  readonly isAlwaysServed?: true;
  /** Whether a metadata-only list is in protobuf, and without the managed fields. */
  readonly isProtobuf?: true;
  /** If present, a list in protobuf leaves out the objects for which this is false. */
  readonly isNeeded?: ObjectFilter;
  readonly parse: (object: ApiObject) => Item;
}

/** Returns undefined if the object does not exist. A GET is a quorum read of etcd and never stale. */
export async function getObject<Item extends { readonly name: string }>(
  api: Pick<KubeApi, 'json'>,
  { paths, isMetadataOnly, parse }: Resource<Item>,
  name: string,
  signal: AbortSignal,
  purpose?: Purpose,
): Promise<Item | undefined> {
  const accept = isMetadataOnly ? ACCEPT_METADATA : undefined;
  let notServed: unknown;
  for (const path of paths) {
    try {
      return parse((await api.json({ path: objectPath(path, name), accept, purpose, signal })) as ApiObject);
    } catch (error) {
      if (isAbsent(error)) return undefined;
      if (!isNotFound(error)) throw error;
      notServed = error;
    }
  }
  throw notServed;
}
