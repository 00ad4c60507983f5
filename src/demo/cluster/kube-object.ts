/** `metadata` of a stored object; what the sandbox itself reads and writes is named, everything else is kept as it came. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  /** The store's version at the last change of this object: a decimal number, as etcd's. */
  readonly resourceVersion: string;
  /** RFC 3339, whole seconds. */
  readonly creationTimestamp: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly deletionTimestamp?: string;
  readonly [field: string]: unknown;
}

/** An object as the sandbox stores it. Never changed in place: each write makes a new one. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** An object as a client sends it: the server fills in the rest. */
export interface NewObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: Partial<ObjectMeta> & { readonly generateName?: string };
  readonly [field: string]: unknown;
}

/** Is this JSON value an object, neither null nor a list? */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
