import type { KubeObject } from './kube-object.ts';
import { StatusError } from './status-error.ts';

export interface Change {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resource: string;
  /** A deleted object has its last fields and the version of its deletion. */
  readonly object: KubeObject;
}

/** Four digits are easy to find in a log. */
const FIRST_VERSION = 1_000;

/** As the revision of etcd, one version counts the changes of all kinds. */
export class Store {
  readonly #objects = new Map<string, KubeObject>();
  readonly #listeners = new Set<(change: Change) => void>();
  #version = FIRST_VERSION;
  readonly #changes: Change[] = [];

  get version(): number {
    return this.#version;
  }

  get(resource: string, namespace: string, name: string): KubeObject | undefined {
    return this.#objects.get(keyOf(resource, namespace, name));
  }

  /** Sorted by namespace and name. An empty namespace means all. */
  list(resource: string, namespace: string): KubeObject[] {
    const prefix = namespace === '' ? `${resource}/` : keyOf(resource, namespace, '');
    return [...this.#objects]
      .filter(([key]) => key.startsWith(prefix))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, object]) => object);
  }

  put(resource: string, object: KubeObject): KubeObject {
    const { name, namespace = '' } = object.metadata;
    const key = keyOf(resource, namespace, name);
    const type = this.#objects.has(key) ? 'MODIFIED' : 'ADDED';
    const stored = this.#withNextVersion(object);
    this.#objects.set(key, stored);
    this.#recordChange({ version: this.#version, type, resource, object: stored });
    return stored;
  }

  remove(resource: string, namespace: string, name: string): void {
    const object = this.get(resource, namespace, name);
    if (object === undefined) return;
    this.#objects.delete(keyOf(resource, namespace, name));
    const last = this.#withNextVersion(object);
    this.#recordChange({ version: this.#version, type: 'DELETED', resource, object: last });
  }

  /** @throws StatusError 410 for a version before the first one of this store */
  changesAfter(version: number): readonly Change[] {
    if (version < FIRST_VERSION) throw new StatusError(410, 'Expired', `too old resource version: ${version}`);
    return this.#changes.slice(this.#changes.findLastIndex((change) => change.version <= version) + 1);
  }

  /** Returns the function that removes the listener. */
  onChange(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #withNextVersion(object: KubeObject): KubeObject {
    this.#version += 1;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
  }

  #recordChange(change: Change): void {
    this.#changes.push(change);
    for (const listener of this.#listeners) listener(change);
  }
}

function keyOf(resource: string, namespace: string, name: string): string {
  return `${resource}/${namespace}/${name}`;
}
