export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  /** The version of the store at the last change of this object: a decimal number, as that of etcd. */
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** An object as the store keeps it. It never changes: each write stores a new one. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** An object as a client sends it. The API server adds the rest. */
export interface NewObject {
  readonly metadata: Partial<ObjectMeta>;
  readonly [field: string]: unknown;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
