import { isObjectName, toConfigName } from '../mco/referrer.ts';
import type { HoldableConfig } from '../review/verdict.ts';
import { objectPath } from './api-paths.ts';
import type { KubeApi, Purpose } from './api.ts';
import { isAbsent, isNotFound } from './errors.ts';

/** The fields of an API object that the guard reads. None of them is validated. */
export interface ApiObject {
  readonly metadata?: {
    readonly name?: unknown;
    readonly uid?: unknown;
    readonly namespace?: unknown;
    readonly resourceVersion?: unknown;
    readonly labels?: Readonly<Record<string, unknown>> | null;
    readonly annotations?: Readonly<Record<string, unknown>> | null;
    readonly deletionTimestamp?: unknown;
    readonly finalizers?: unknown;
    readonly creationTimestamp?: unknown;
    readonly managedFields?: unknown;
    readonly ownerReferences?: unknown;
  } | null;
  readonly spec?: unknown;
  readonly status?: unknown;
}

export class MalformedObject extends Error {}

/** Parses RFC 3339, or milliseconds since 1970. Returns undefined unless the value is a time. */
export function parseTime(value: unknown): Date | undefined {
  const time = new Date(typeof value === 'string' || typeof value === 'number' ? value : Number.NaN);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

export function parseHoldableConfig(metadata: NonNullable<ApiObject['metadata']>): HoldableConfig {
  const { name, creationTimestamp, ownerReferences } = metadata;
  const owners = Array.isArray(ownerReferences) ? (ownerReferences as (Record<string, unknown> | null)[]) : [];
  const ownerPool = owners.find((owner) => owner?.['kind'] === 'MachineConfigPool')?.['name'];
  return {
    name: toConfigName(String(name)),
    createdAt: parseTime(creationTimestamp),
    ...(typeof ownerPool === 'string' && isObjectName(ownerPool) ? { ownerPool } : {}),
  };
}

/**
 * Returns when the managers that own a field last wrote the object. The API server sets these times by its own clock.
 * @param path keys of `fieldsV1`, such as `['f:spec', 'f:paused']`
 */
export function findWriteTime({ metadata }: ApiObject, path: readonly string[], subresource = ''): Date | undefined {
  const entries = Array.isArray(metadata?.managedFields) ? (metadata.managedFields as unknown[]) : [];
  const times = entries.flatMap((entry) => {
    const { time, subresource: written = '', fieldsV1 } = (entry ?? {}) as Record<string, unknown>;
    const date = parseTime(time);
    return date !== undefined && written === subresource && hasPath(fieldsV1, path) ? [date] : [];
  });
  return times.toSorted((a, b) => b.getTime() - a.getTime())[0];
}

function hasPath(fields: unknown, path: readonly string[]): boolean {
  let value = fields;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false;
    value = (value as Record<string, unknown>)[key];
  }
  return true;
}

export interface Resource<Item extends { readonly name: string }> {
  readonly kind: string;
  /** The plural name, for messages and the audit log. */
  readonly name: string;
  /** One collection for each API version, the preferred one first. A 404 leads to the next. */
  readonly paths: readonly [string, ...string[]];
  readonly isMetadataOnly?: boolean | undefined;
  /** If present, a list of objects that have one of these annotations skips the others: see `NodeObject`. */
  readonly annotations?: readonly string[];
  readonly parse: (object: ApiObject) => Item;
}

/** Media type of protobuf (k8s.io/apimachinery, pkg/runtime/types.go). */
export const PROTOBUF_MEDIA_TYPE = 'application/vnd.kubernetes.protobuf';

/** The `accept` of metadata-only forms. A server that lacks them may send whole objects. */
const toMetadataForm = (kind: string): string => `as=${kind};g=meta.k8s.io;v=v1`;
const METADATA_LIST = toMetadataForm('PartialObjectMetadataList');
export const ACCEPT_METADATA = `application/json;${toMetadataForm('PartialObjectMetadata')},application/json`;
export const ACCEPT_METADATA_LIST = `application/json;${METADATA_LIST},application/json`;
/** Protobuf costs the API server half as much as JSON. */
export const ACCEPT_PROTOBUF_LIST = `${PROTOBUF_MEDIA_TYPE};${METADATA_LIST},${ACCEPT_METADATA_LIST}`;

/** Whether `a` is older than `b`, or no number although `b` is one. Etcd counts resource versions upwards. */
export function isOlderVersion(a: string, b: string): boolean {
  return isNumber(b) && (!isNumber(a) || BigInt(a) < BigInt(b));
}

export function isNumber(version: string): boolean {
  return /^\d{1,20}$/.test(version);
}

export function toListPath(collection: string, query: Readonly<Record<string, string>>): string {
  const search = new URLSearchParams(query).toString();
  return search === '' ? collection : `${collection}?${search}`;
}

/** Returns undefined if the object does not exist. A GET is a quorum read of etcd and never stale. */
export async function getObject<Item extends { readonly name: string }>(
  api: Pick<KubeApi, 'json'>,
  { paths, isMetadataOnly, parse }: Resource<Item>,
  name: string,
  signal: AbortSignal,
  purpose: Purpose = 'requests',
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
