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

/** An object lacks a field, or has one of another type. */
export class MalformedObject extends Error {}

/** Returns the name of an object. @throws MalformedObject if it has none */
export function readName(object: Pick<ApiObject, 'metadata'>, kind: string): string {
  const name = object.metadata?.name;
  if (typeof name !== 'string' || name === '') throw new MalformedObject(`a ${kind} has no name`);
  return name;
}

/** Parses RFC 3339, or milliseconds since 1970. Returns undefined unless the value is a time. */
export function parseTime(value: unknown): Date | undefined {
  const time = new Date(typeof value === 'string' || typeof value === 'number' ? value : Number.NaN);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

/** The last write of an object by a manager that owns a field. The API server sets the time by its own clock. */
export interface ManagedWrite {
  /** The name of the field manager, such as `kubectl-annotate`. Any client can choose any name. */
  readonly manager: string;
  readonly at: Date;
}

/**
 * Finds the last write of the managers that own a field, in `managedFields`.
 * @param path keys of `fieldsV1`, such as `['f:spec', 'f:paused']`
 * @param subresource of the write, such as `status`. By default the object itself
 * @param isWanted whether the writes of a manager count. By default all do
 * @returns undefined if no manager owns the field
 */
export function findLastWrite(
  { metadata }: ApiObject,
  path: readonly string[],
  subresource = '',
  isWanted: (manager: string) => boolean = () => true,
): ManagedWrite | undefined {
  const entries = Array.isArray(metadata?.managedFields) ? (metadata.managedFields as unknown[]) : [];
  const writes = entries.flatMap((entry) => {
    const { manager, time, subresource: written = '', fieldsV1 } = (entry ?? {}) as Record<string, unknown>;
    const isOwner = written === subresource && isWanted(String(manager)) && hasPath(fieldsV1, path);
    const at = isOwner ? parseTime(time) : undefined;
    return at === undefined ? [] : [{ manager: String(manager), at }];
  });
  return writes.toSorted((a, b) => b.at.getTime() - a.at.getTime())[0];
}

/** Like {@link findLastWrite}, but only the time. */
export function findWriteTime(object: ApiObject, path: readonly string[], subresource = ''): Date | undefined {
  return findLastWrite(object, path, subresource)?.at;
}

function hasPath(fields: unknown, path: readonly string[]): boolean {
  let value = fields;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false;
    value = (value as Record<string, unknown>)[key];
  }
  return true;
}

/** Whether `a` is older than `b`, or no number although `b` is one. Etcd counts resource versions upwards. */
export function isOlderVersion(a: string, b: string): boolean {
  return isNumber(b) && (!isNumber(a) || BigInt(a) < BigInt(b));
}

/** Whether a resourceVersion is a number, as that of every API server on etcd. */
export function isNumber(version: string): boolean {
  return /^\d{1,20}$/.test(version);
}

/** Kubernetes limits the names of objects (RFC 1123). */
export const MAX_NAME_LENGTH = 253;
const SUBDOMAIN = /^[a-z0-9]+(?:(?:-+|\.)[a-z0-9]+)*$/;

/** Whether an object can have this name (RFC 1123 subdomain). */
export function isObjectName(name: string): boolean {
  return name.length <= MAX_NAME_LENGTH && SUBDOMAIN.test(name);
}
