/** The part of an API object that the guard reads. Everything is optional and untyped: it comes from outside. */
export interface ApiObject {
  readonly metadata?: {
    readonly name?: unknown;
    readonly resourceVersion?: unknown;
    readonly labels?: Readonly<Record<string, unknown>> | null;
    readonly annotations?: Readonly<Record<string, unknown>> | null;
    readonly deletionTimestamp?: unknown;
    readonly creationTimestamp?: unknown;
  } | null;
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** An object violates the schema of its kind, so nothing can be concluded from it. */
export class MalformedObject extends Error {
  override readonly name = 'MalformedObject';
}
