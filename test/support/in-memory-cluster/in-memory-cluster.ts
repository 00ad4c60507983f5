import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { toSeconds } from '../../../src/common/duration.ts';
import { ApiError } from '../../../src/kube/errors.ts';
import { isRecord } from '../../../src/rendered-config/rendered-config.ts';
import { findKind, toApiVersion } from './kinds.ts';

export interface KubeObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    /** The version of the cluster at the last change of this object. */
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

export type NewObject = Omit<KubeObject, 'metadata'> & { readonly metadata: Partial<KubeObject['metadata']> };

export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resource: string;
  /** A deleted object has its last fields and the version of its deletion. */
  readonly object: KubeObject;
}

const FIRST_VERSION = 1_000;
const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again';

/**
 * Objects that can be watched, with only the rules of kube-apiserver that the guard and its tests need. Nothing
 * reviews these writes: `handleRequest` asks the webhooks.
 */
export class InMemoryCluster {
  readonly #objects = new Map<string, KubeObject>();
  readonly #changes: Change[] = [];
  readonly #watchers = new Set<(change: Change) => void>();

  /** As the revision of etcd, it counts the changes of all kinds. */
  get version(): number {
    return FIRST_VERSION + this.#changes.length;
  }

  /**
   * A uid and a time that the object has stay, unlike in a real API server, so that an exploration can repeat a run.
   * @throws ApiError 409
   */
  create(resource: string, object: NewObject, isDryRun = false): KubeObject {
    const kind = findKind(resource);
    const { name = '', namespace } = object.metadata;
    if (this.get(resource, name, namespace) !== undefined) {
      throw new ApiError(409, 'AlreadyExists', `${formatResource(resource)} "${name}" already exists`);
    }
    const creationTimestamp = toSeconds(new Date());
    const own = { name, resourceVersion: '', generation: 1 };
    const metadata = { uid: randomUUID(), creationTimestamp, ...object.metadata, ...own };
    const created = { ...object, apiVersion: toApiVersion(kind), kind: kind.kind, metadata };
    return this.#write('ADDED', resource, created, isDryRun);
  }

  /**
   * Applies a JSON merge patch.
   * @throws ApiError 404, or 409 if the patch contains another resourceVersion
   */
  patch(resource: string, name: string, patch: object, namespace = '', isDryRun = false): KubeObject {
    const before = this.require(resource, name, namespace);
    const patched = applyMergePatch(before, patch) as KubeObject;
    const isTerminated = before.metadata['deletionTimestamp'] !== patched.metadata['deletionTimestamp'];
    const isChanged = isTerminated || !isDeepStrictEqual(before['spec'], patched['spec']);
    const generation = Number(before.metadata['generation']) + (isChanged ? 1 : 0);
    const after = { ...patched, metadata: { ...patched.metadata, generation } };
    if (after.metadata.resourceVersion !== before.metadata.resourceVersion) {
      throw new ApiError(
        409,
        'Conflict',
        `Operation cannot be fulfilled on ${formatResource(resource)} "${name}": ${MODIFIED}`,
      );
    }
    return this.#write('MODIFIED', resource, after, isDryRun);
  }

  get(resource: string, name: string, namespace = ''): KubeObject | undefined {
    return this.#objects.get(toKey(resource, namespace, name));
  }

  /** @throws ApiError 404 */
  require(resource: string, name: string, namespace: string): KubeObject {
    const object = this.get(resource, name, namespace);
    if (object === undefined) throw new ApiError(404, 'NotFound', `${formatResource(resource)} "${name}" not found`);
    return object;
  }

  list(resource: string, namespace = ''): KubeObject[] {
    const prefix = namespace === '' ? `${resource}/` : toKey(resource, namespace, '');
    const entries = [...this.#objects].filter(([key]) => key.startsWith(prefix));
    return entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  erase(resource: string, name: string, namespace = ''): void {
    const object = this.get(resource, name, namespace);
    if (object !== undefined) this.#write('DELETED', resource, object);
  }

  /**
   * Sends the changes after a version, and then each new one. A watch from a future version waits for it in silence.
   * Returns the function that ends the watch.
   */
  watch(send: (change: Change) => void, version = this.version): () => void {
    const sendLater = (change: Change): void => {
      if (Number(change.object.metadata.resourceVersion) > version) send(change);
    };
    this.#changes.forEach(sendLater);
    this.#watchers.add(sendLater);
    return () => void this.#watchers.delete(sendLater);
  }

  /** Restores a backup of etcd: the changes after a version are lost. Open watches stay open, and get nothing more. */
  restore(version: number): void {
    this.#objects.clear();
    this.#watchers.clear();
    this.#changes.length = version - FIRST_VERSION;
    for (const { type, resource, object } of this.#changes) {
      const { name, namespace = '' } = object.metadata;
      const key = toKey(resource, namespace, name);
      if (type === 'DELETED') this.#objects.delete(key);
      else this.#objects.set(key, object);
    }
  }

  #write(type: Change['type'], resource: string, written: KubeObject, isDryRun = false): KubeObject {
    if (isDryRun) return written;
    const object = { ...written, metadata: { ...written.metadata, resourceVersion: String(this.version + 1) } };
    const { name, namespace = '' } = object.metadata;
    const key = toKey(resource, namespace, name);
    if (type === 'DELETED') this.#objects.delete(key);
    else this.#objects.set(key, object);
    const change = { type, resource, object };
    this.#changes.push(change);
    for (const send of this.#watchers) send(change);
    return object;
  }
}

/** As the API server names a resource in its messages. */
function formatResource(resource: string): string {
  const { group } = findKind(resource);
  return group === '' ? resource : `${resource}.${group}`;
}

function toKey(resource: string, namespace: string, name: string): string {
  return `${resource}/${namespace}/${name}`;
}

/** RFC 7386. */
function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = applyMergePatch(merged[key], value);
  }
  return merged;
}
