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

/** An object violates the schema of its kind. */
export class MalformedObject extends Error {
  override readonly name = 'MalformedObject';
}

/** Parses RFC 3339, or milliseconds since 1970. Returns undefined unless the value is a time. */
export function parseTime(value: unknown): Date | undefined {
  const time = new Date(typeof value === 'string' || typeof value === 'number' ? value : Number.NaN);
  return Number.isNaN(time.getTime()) ? undefined : time;
}
