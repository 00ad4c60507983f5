/** The part of an API object that references are read from. Everything is optional because it comes from outside. */
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

/** An object of the cluster does not have the shape that its schema promises, so nothing can be concluded from it. */
export class MalformedObject extends Error {
  override readonly name = 'UnreadableObject';
}
