import { randomBytes, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Admission, Caller } from './admission.ts';
import type { DeleteOptions } from './delete-options.ts';
import { isRecord, type KubeObject, type NewObject, type ObjectMeta } from './kube-object.ts';
import { apiVersion, type Kind } from './kinds.ts';
import { mergePatch } from './merge-patch.ts';
import type { Selector } from './selector.ts';
import { alreadyExists, badRequest, conflict, invalid, notFound, type StatusError } from './status-error.ts';
import type { Store } from './store.ts';
import type { Target } from './target.ts';
import { checkWebhookConfiguration } from './webhook-registration.ts';

/** What every write may carry beside its object. */
export interface WriteOptions {
  readonly dryRun: boolean;
  /** Takes the status of a new object as it is: for objects that appear with their history, not through the API. */
  readonly keepStatus?: boolean;
}

/** The object that a write is about: a target whose name is known. */
export type NamedTarget = Target & { readonly name: string };

const MODIFIED_MEANWHILE =
  'the object has been modified; please apply your changes to the latest version and try again';

/**
 * The rules by which objects are written: what the server fills in, what it refuses, who is asked before a deletion
 * (k8s.io/apiserver, registry/generic/registry/store.go). Where a rule says nothing about the guard, it is left out.
 */
export class Registry {
  readonly #store: Store;
  readonly #admission: Admission;

  constructor(store: Store, admission: Admission) {
    this.#store = store;
    this.#admission = admission;
  }

  /** Creates an object. */
  create({ kind, namespace }: Pick<Target, 'kind' | 'namespace'>, body: unknown, options: WriteOptions): KubeObject {
    const { metadata, ...given } = newObject(kind, body);
    // The status of a custom resource is written through /status alone, from the start.
    const { status, ...rest } = given;
    const keepsStatus = options.keepStatus === true || kind.builtIn || !kind.status;
    const name = metadata.name ?? generatedName(metadata.generateName);
    if (name === undefined) throw invalid(kind, '', 'metadata.name: Required value: name or generateName is required');
    if (kind.namespaced && (metadata.namespace ?? namespace) !== namespace) {
      throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
    }
    if (this.#store.get(kind, name, namespace) !== undefined) throw alreadyExists(kind, name);
    const object: KubeObject = {
      ...rest,
      ...(status !== undefined && keepsStatus ? { status } : {}),
      apiVersion: rest.apiVersion ?? apiVersion(kind),
      kind: kind.kind,
      metadata: {
        ...metadata,
        name,
        ...(kind.namespaced ? { namespace } : {}),
        uid: randomUUID(),
        resourceVersion: '',
        creationTimestamp: wholeSeconds(new Date()),
        generation: 1,
      },
    };
    if (kind.resource === 'validatingwebhookconfigurations') checkWebhookConfiguration(kind, object);
    return options.dryRun ? object : this.#store.put(kind, object);
  }

  /** Replaces an object, or its status alone. */
  update(target: NamedTarget, body: unknown, options: WriteOptions): KubeObject {
    const replacement = newObject(target.kind, body);
    const { name, resourceVersion } = replacement.metadata;
    if (name !== undefined && name !== target.name) {
      throw badRequest(`the name of the object (${name}) does not match the name on the URL (${target.name})`);
    }
    const before = this.get(target);
    if (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion) {
      throw conflict(target.kind, target.name, MODIFIED_MEANWHILE);
    }
    return this.#replace(target, before, replacement, options);
  }

  /** Applies a JSON merge patch to an object, or to its status alone. */
  patch(target: NamedTarget, patch: unknown, options: WriteOptions): KubeObject {
    if (!isRecord(patch)) throw badRequest('a merge patch must be a JSON object');
    const before = this.get(target);
    const merged = newObject(target.kind, mergePatch(before, patch));
    if (merged.metadata.resourceVersion !== before.metadata.resourceVersion) {
      throw conflict(target.kind, target.name, MODIFIED_MEANWHILE);
    }
    return this.#replace(target, before, merged, options);
  }

  /** One object. Throws a 404. */
  get({ kind, name, namespace }: NamedTarget): KubeObject {
    const object = this.#store.get(kind, name, namespace);
    if (object === undefined) throw notFound(kind, name);
    return object;
  }

  /**
   * Deletes an object, if everybody agrees.
   *
   * @returns the object where it now waits for its finalizers, undefined where it is gone (or would be)
   */
  async delete(target: NamedTarget, options: DeleteOptions, caller: Caller): Promise<KubeObject | undefined> {
    return await this.#delete(target, options, caller, target.name);
  }

  /**
   * Deletes every selected object of a collection, one after the other. The first refusal ends it; what was deleted by then
   * stays deleted. Webhooks get to see no name in the request (apiserver/pkg/registry/rest/delete.go).
   *
   * @returns the objects that were deleted
   */
  async deleteCollection(
    target: Target,
    selector: Selector,
    options: DeleteOptions,
    caller: Caller,
  ): Promise<KubeObject[]> {
    const selected = this.#store.list(target.kind, target.namespace).filter(selector);
    for (const { metadata } of selected) {
      const one = { ...target, name: metadata.name, namespace: metadata.namespace ?? '' };
      if (this.#store.get(one.kind, one.name, one.namespace) === undefined) continue;
      await this.#delete(one, options, caller, undefined);
    }
    return selected;
  }

  async #delete(
    target: NamedTarget,
    options: DeleteOptions,
    caller: Caller,
    nameInRequest: string | undefined,
  ): Promise<KubeObject | undefined> {
    const object = this.get(target);
    checkPreconditions(target, object, options);
    await this.#admission.beforeDelete({ target, object, options, caller, name: nameInRequest });
    // The webhooks took their time: somebody may have deleted or replaced the object meanwhile.
    const now = this.get(target);
    checkPreconditions(target, now, options);
    const finalizers = [...(now.metadata.finalizers ?? []), ...finalizersOf(options)];
    if (finalizers.length === 0) {
      if (!options.dryRun) this.#store.remove(target.kind, target.name, target.namespace);
      return undefined;
    }
    const { deletionTimestamp = wholeSeconds(new Date()) } = now.metadata;
    const terminating: KubeObject = {
      ...now,
      metadata: {
        ...now.metadata,
        finalizers: [...new Set(finalizers)],
        deletionTimestamp,
        deletionGracePeriodSeconds: 0,
        generation: (now.metadata.generation ?? 1) + 1,
      },
    };
    return options.dryRun ? terminating : this.#store.put(target.kind, terminating);
  }

  #replace(target: NamedTarget, before: KubeObject, after: NewObject, { dryRun }: WriteOptions): KubeObject {
    const { kind, name, namespace, subresource } = target;
    const { metadata, ...rest } = after;
    const statusOf = subresource === 'status' ? after : before;
    // What the client sent of the other half is ignored, not refused.
    const body = subresource === 'status' ? withoutMeta(before) : rest;
    const object: KubeObject = {
      ...body,
      ...(kind.status ? { status: statusOf['status'] } : {}),
      apiVersion: before.apiVersion,
      kind: before.kind,
      metadata: {
        ...(subresource === 'status' && !kind.builtIn ? before.metadata : metadata),
        ...identity(before.metadata),
        generation: generationAfter(before, body),
      },
    };
    if (kind.resource === 'validatingwebhookconfigurations') checkWebhookConfiguration(kind, object);
    const left = object.metadata.finalizers ?? [];
    if (object.metadata.deletionTimestamp !== undefined && left.length === 0) {
      // Its last finalizer is gone. Admission is not asked again (apiserver/pkg/registry/generic/registry/store.go).
      if (!dryRun) this.#store.remove(kind, name, namespace);
      return object;
    }
    const same = isDeepStrictEqual(JSON.parse(JSON.stringify(object)), JSON.parse(JSON.stringify(before)));
    return dryRun || same ? object : this.#store.put(kind, object);
  }
}

function newObject(kind: Kind, body: unknown): NewObject {
  if (!isRecord(body)) throw badRequest('the body of the request must be an object');
  if (body['kind'] !== undefined && body['kind'] !== kind.kind) {
    throw badRequest(`the object provided is a ${JSON.stringify(body['kind'])}, expected ${kind.kind}`);
  }
  const metadata = body['metadata'] ?? {};
  if (!isRecord(metadata)) throw badRequest('metadata must be an object');
  return { ...body, metadata };
}

/** What no client can change. */
function identity(before: ObjectMeta): ObjectMeta {
  const { name, namespace, uid, creationTimestamp, deletionTimestamp, resourceVersion } = before;
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    uid,
    resourceVersion,
    creationTimestamp,
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
  };
}

function withoutMeta({ metadata: _metadata, ...rest }: KubeObject): Record<string, unknown> {
  return rest;
}

/** Counts the versions of what the user asked for: metadata and status do not count. */
function generationAfter(before: KubeObject, body: Record<string, unknown>): number {
  const generation = before.metadata.generation ?? 1;
  return isDeepStrictEqual(body['spec'], before['spec']) ? generation : generation + 1;
}

function finalizersOf({ propagationPolicy }: DeleteOptions): string[] {
  if (propagationPolicy === 'Foreground') return ['foregroundDeletion'];
  return propagationPolicy === 'Orphan' ? ['orphan'] : [];
}

function checkPreconditions({ kind, name }: NamedTarget, { metadata }: KubeObject, options: DeleteOptions): void {
  const { uid, resourceVersion } = options.preconditions;
  const differs = (what: string, given: string, recorded: string, hint: string): StatusError => {
    const why = `the ${what} in the precondition (${given}) does not match the ${what} in record (${recorded}). The object might have been ${hint}`;
    return conflict(kind, name, why);
  };
  if (uid !== undefined && uid !== metadata.uid) {
    throw differs('UID', uid, metadata.uid, 'deleted and then recreated');
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw differs('ResourceVersion', resourceVersion, metadata.resourceVersion, 'modified');
  }
}

function generatedName(prefix: string | undefined): string | undefined {
  return prefix === undefined ? undefined : `${prefix}${randomBytes(3).toString('hex').slice(0, 5)}`;
}

function wholeSeconds(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}
