import { randomUUID } from 'node:crypto';
import { admitDeletion } from './admission.ts';
import { findKind, toApiVersion } from './kinds.ts';
import { isRecord, type KubeObject, type NewObject, type ObjectMeta } from './kube-object.ts';
import { parseWebhooks } from './registered-webhook.ts';
import { alreadyExists, conflict, notFound } from './status-error.ts';
import { Store } from './store.ts';

interface DeletionOptions {
  readonly isDryRun?: boolean;
  readonly user: string;
  readonly namespace?: string;
  readonly uid?: string | undefined;
}

export const ADMIN_USER = 'system:admin';

const WEBHOOK_CONFIGURATIONS = findKind('validatingwebhookconfigurations');
const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again';

/** Has only the rules of kube-apiserver that the guard and its tests need. `ApiServer` serves it. */
export class InMemoryCluster {
  readonly store = new Store();

  /** @throws StatusError */
  create(resource: string, object: NewObject, isDryRun = false): KubeObject {
    const kind = findKind(resource);
    const { name = '', namespace } = object.metadata;
    if (this.get(resource, name, namespace) !== undefined) throw alreadyExists(kind, name);
    const created: KubeObject = {
      ...object,
      apiVersion: toApiVersion(kind),
      kind: kind.kind,
      metadata: {
        ...object.metadata,
        name,
        uid: randomUUID(),
        resourceVersion: '',
        generation: 1,
        creationTimestamp: `${new Date().toISOString().slice(0, -5)}Z`,
      },
    };
    if (kind === WEBHOOK_CONFIGURATIONS) parseWebhooks(created);
    return isDryRun ? created : this.store.put(resource, created);
  }

  /** @throws StatusError, for example if the patch contains another resourceVersion */
  patch(
    resource: string,
    name: string,
    patch: Readonly<Record<string, unknown>>,
    namespace = '',
    isDryRun = false,
  ): KubeObject {
    const before = this.#getOrThrow(resource, name, namespace);
    const after = applyMergePatch(before, patch) as KubeObject;
    const { uid, resourceVersion, creationTimestamp } = before.metadata;
    if (after.metadata.resourceVersion !== resourceVersion) throw conflict(findKind(resource), name, MODIFIED);
    const metadata: ObjectMeta = { ...after.metadata, name, uid, creationTimestamp };
    const patched = { ...after, metadata };
    return isDryRun ? patched : this.store.put(resource, patched);
  }

  get(resource: string, name: string, namespace = ''): KubeObject | undefined {
    return this.store.get(resource, namespace, name);
  }

  list(resource: string): KubeObject[] {
    return this.store.list(resource, '');
  }

  /** Deletes an object without a review. */
  erase(resource: string, name: string, namespace = ''): void {
    this.store.remove(resource, namespace, name);
  }

  /**
   * @returns the warnings for the client
   * @throws StatusError
   */
  async requestDeletion(resource: string, name: string, options: DeletionOptions): Promise<readonly string[]> {
    const { user, isDryRun = false, uid, namespace = '' } = options;
    const kind = findKind(resource);
    const object = this.#getOrThrow(resource, name, namespace);
    if (uid !== undefined && uid !== object.metadata.uid) {
      const uids = `the UID in the precondition (${uid}) does not match the UID in record (${object.metadata.uid})`;
      throw conflict(kind, name, `${uids}. The object might have been deleted and then recreated`);
    }
    // An administrator can always delete a webhook configuration.
    const configurations = kind === WEBHOOK_CONFIGURATIONS ? [] : this.list(WEBHOOK_CONFIGURATIONS.resource);
    const webhooks = configurations.flatMap(parseWebhooks);
    const warnings = await admitDeletion(webhooks, { kind, object, user, isDryRun });
    if (!isDryRun) this.erase(resource, name, namespace);
    return warnings;
  }

  #getOrThrow(resource: string, name: string, namespace: string): KubeObject {
    const object = this.get(resource, name, namespace);
    if (object === undefined) throw notFound(findKind(resource), name);
    return object;
  }
}

/** A JSON merge patch (RFC 7386). */
function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = applyMergePatch(merged[key], value);
  }
  return merged;
}
