import type { KubeObject } from './kube-object.ts';
import type { Kind } from './kinds.ts';

/** One change, as watches report it. */
export interface Change {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly kind: Kind;
  /** After the change; for a deletion as it last was, with the deletion's version. */
  readonly object: KubeObject;
}

/** Everything in the store at one version, as a backup of etcd. */
export interface Snapshot {
  readonly version: number;
  readonly objects: ReadonlyMap<string, ReadonlyMap<string, KubeObject>>;
}

/** Versions of a real cluster are never small; four digits show up well in a log. */
const FIRST_VERSION = 1000;
/** Changes remembered for watches; beyond it the older half is compacted, as etcd does every five minutes. */
const CHANGES_MAX = 20_000;

/**
 * The objects of the sandbox and their history: one version that counts up for all kinds together, as etcd's revision does.
 * Knows nothing of HTTP and of the rules for writing.
 */
export class Store {
  #version = FIRST_VERSION;
  #compacted = FIRST_VERSION;
  #objects = new Map<string, Map<string, KubeObject>>();
  #changes: Change[] = [];
  readonly #listeners = new Set<() => void>();

  /** The version of the last change. */
  get version(): number {
    return this.#version;
  }

  /** Changes up to this version are forgotten. */
  get compacted(): number {
    return this.#compacted;
  }

  /** One object, or undefined. */
  get(kind: Kind, name: string, namespace = ''): KubeObject | undefined {
    return this.#objects.get(kind.resource)?.get(keyOf(namespace, name));
  }

  /** All objects of a kind in the order of their keys; of all namespaces where none is given. */
  list(kind: Kind, namespace = ''): KubeObject[] {
    const found = [...(this.#objects.get(kind.resource) ?? [])];
    return found
      .filter(([key]) => namespace === '' || key.startsWith(`${namespace}/`))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, object]) => object);
  }

  /** Writes an object and stamps it with the new version. */
  put(kind: Kind, object: KubeObject): KubeObject {
    const { name, namespace } = object.metadata;
    const before = this.get(kind, name, namespace);
    const stored = this.#stamped(object);
    const ofKind = this.#objects.get(kind.resource) ?? new Map<string, KubeObject>();
    ofKind.set(keyOf(namespace ?? '', name), stored);
    this.#objects.set(kind.resource, ofKind);
    this.#happened({
      version: this.#version,
      type: before === undefined ? 'ADDED' : 'MODIFIED',
      kind,
      object: stored,
    });
    return stored;
  }

  /** Removes an object. Returns it as it was, or undefined where there was none. */
  remove(kind: Kind, name: string, namespace = ''): KubeObject | undefined {
    const before = this.get(kind, name, namespace);
    if (before === undefined) return undefined;
    this.#objects.get(kind.resource)?.delete(keyOf(namespace, name));
    const last = this.#stamped(before);
    this.#happened({ version: this.#version, type: 'DELETED', kind, object: last });
    return before;
  }

  /** What has changed after `version`, oldest first; undefined where that is no longer known. */
  changesAfter(version: number): Change[] | undefined {
    if (version < this.#compacted) return undefined;
    let from = this.#changes.length;
    while (from > 0 && (this.#changes[from - 1]?.version ?? 0) > version) from -= 1;
    return this.#changes.slice(from);
  }

  /** Forgets the history up to now. Versions and objects stay. */
  compact(): void {
    this.#compacted = this.#version;
    this.#changes = [];
  }

  /** A copy of everything. */
  snapshot(): Snapshot {
    return {
      version: this.#version,
      objects: new Map([...this.#objects].map(([resource, ofKind]) => [resource, new Map(ofKind)])),
    };
  }

  /**
   * Puts a snapshot back, its version included, so that the next write gets a version that was given out before. No watch
   * is told: that is what makes the restore of a backup dangerous for everything that watches.
   */
  restore({ version, objects }: Snapshot): void {
    this.#version = version;
    this.#compacted = Math.min(this.#compacted, version);
    this.#objects = new Map([...objects].map(([resource, ofKind]) => [resource, new Map(ofKind)]));
    this.#changes = this.#changes.filter((change) => change.version <= version);
  }

  /** Calls the listener after each change. Returns what ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  #stamped(object: KubeObject): KubeObject {
    this.#version += 1;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
  }

  #happened(change: Change): void {
    this.#changes.push(change);
    if (this.#changes.length > CHANGES_MAX) {
      const forgotten = this.#changes.splice(0, CHANGES_MAX / 2);
      this.#compacted = forgotten.at(-1)?.version ?? this.#compacted;
    }
    for (const listener of this.#listeners) listener();
  }
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
