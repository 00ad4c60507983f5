import { randomUUID } from 'node:crypto';
import type { AuditAnnotations } from './audit.ts';
import type { DeleteOptions } from './delete-options.ts';
import { isRecord, type KubeObject } from './kube-object.ts';
import { apiVersion, kindOf } from './kinds.ts';
import { badRequest, internalError, StatusError } from './status-error.ts';
import type { Store } from './store.ts';
import type { Target } from './target.ts';
import type { User } from './user.ts';
import { CallFailed, type WebhookCaller } from './webhook-caller.ts';
import { type Webhook, webhooksOf } from './webhook-registration.ts';

/** Who asks, and where webhooks leave what they have to say beside yes and no. */
export interface Caller {
  readonly user: User;
  readonly annotations: AuditAnnotations;
  /** Texts for Warning headers, in order. */
  readonly warnings: string[];
}

/** A deletion that is about to happen. */
export interface Deletion {
  readonly target: Target;
  readonly object: KubeObject;
  readonly options: DeleteOptions;
  readonly caller: Caller;
  /** Undefined during the deletion of a collection: the request names no object. */
  readonly name: string | undefined;
}

const CONFIGURATIONS = kindOf('validatingwebhookconfigurations');
const REVIEW_KIND = 'admission.k8s.io/v1, Kind=AdmissionReview';
/** Go's `%q` and JSON agree for everything that can appear here. */
const quoted = JSON.stringify;

/**
 * Asks the validating webhooks before something is deleted, as kube-apiserver does: k8s.io/apiserver,
 * admission/plugin/webhook/validating/dispatcher.go, release 1.33.
 */
export class Admission {
  readonly #store: Store;
  readonly #caller: WebhookCaller;

  constructor(store: Store, caller: WebhookCaller) {
    this.#store = store;
    this.#caller = caller;
  }

  /** Returns if everybody allows it. Throws the StatusError that the client is to get otherwise. */
  async beforeDelete(deletion: Deletion): Promise<void> {
    const { kind, version } = deletion.target;
    // Their own configuration is exempt, so that an administrator can always switch a webhook off.
    if (kind.group === CONFIGURATIONS.group) return;
    const webhooks = this.#store
      .list(CONFIGURATIONS)
      .flatMap(webhooksOf)
      .filter((webhook) => webhook.concerns(kind, version))
      .filter(({ conditions }) => conditions.every((matches) => matches(deletion.object)));
    // All at once. Of several refusals the client sees one.
    const refusals = await Promise.all(
      webhooks.map(async (webhook, index) => await this.#ask(webhook, index, deletion)),
    );
    const first = refusals.find((refusal) => refusal !== undefined);
    if (first !== undefined) throw first;
  }

  async #ask(webhook: Webhook, index: number, deletion: Deletion): Promise<StatusError | undefined> {
    const { caller, options } = deletion;
    const { name, failurePolicy, sideEffects } = webhook;
    if (options.dryRun && sideEffects !== 'None' && sideEffects !== 'NoneOnDryRun') {
      return badRequest(`admission webhook ${quoted(name)} does not support dry run`);
    }
    try {
      return await this.#call(webhook, deletion);
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      if (failurePolicy === 'Ignore') {
        caller.annotations.add(`failed-open.validating.webhook.admission.k8s.io/round_0_index_${index}`, name);
        return undefined;
      }
      return internalError(`failed calling webhook ${quoted(name)}: ${error.message}`);
    }
  }

  async #call(webhook: Webhook, deletion: Deletion): Promise<StatusError | undefined> {
    const uid = randomUUID();
    const answer = await this.#caller.call(webhook, reviewOf(uid, deletion));
    const response = verified(uid, answer);
    const { annotations, warnings } = deletion.caller;
    const audit = isRecord(response['auditAnnotations']) ? response['auditAnnotations'] : {};
    for (const [key, value] of Object.entries(audit)) {
      // A key that is no qualified name is dropped.
      if (/^[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/.test(key))
        annotations.add(`${webhook.name}/${key}`, textOr('', value));
    }
    if (Array.isArray(response['warnings'])) warnings.push(...response['warnings'].map(String));
    return response['allowed'] === true ? undefined : denial(webhook.name, response['status']);
  }
}

function reviewOf(uid: string, { target, object, options, caller, name }: Deletion): unknown {
  const { kind, version } = target;
  const groupVersionKind = { group: kind.group, version, kind: kind.kind };
  const groupVersionResource = { group: kind.group, version, resource: kind.resource };
  return {
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid,
      kind: groupVersionKind,
      resource: groupVersionResource,
      requestKind: groupVersionKind,
      requestResource: groupVersionResource,
      ...(name === undefined ? {} : { name }),
      ...(target.namespace === '' ? {} : { namespace: target.namespace }),
      operation: 'DELETE',
      userInfo: caller.user,
      object: null,
      oldObject: { ...object, apiVersion: apiVersion(kind, version), kind: kind.kind },
      dryRun: options.dryRun,
      options: options.raw,
    },
  };
}

/** The response in the answer, if it belongs to the question (admission/plugin/webhook/request/admissionreview.go). */
function verified(uid: string, answer: unknown): Record<string, unknown> {
  const review = isRecord(answer) ? answer : {};
  const response = review['response'];
  if (!isRecord(response)) throw invalidResponse('webhook response was absent');
  if (response['uid'] !== uid) {
    throw invalidResponse(`expected response.uid=${quoted(uid)}, got ${quoted(response['uid'] ?? '')}`);
  }
  const kind = `${textOr('/', review['apiVersion'])}, Kind=${textOr('', review['kind'])}`;
  if (kind !== REVIEW_KIND) throw invalidResponse(`expected webhook response of ${REVIEW_KIND}, got ${kind}`);
  for (const field of ['patch', 'patchType']) {
    if (response[field] !== undefined) throw invalidResponse(`validating webhook may not return response.${field}`);
  }
  return response;
}

function invalidResponse(why: string): CallFailed {
  return new CallFailed(`received invalid webhook response: ${why}`);
}

function textOr(otherwise: string, value: unknown): string {
  return typeof value === 'string' ? value : otherwise;
}

/** What the client gets to see of a refusal (admission/plugin/webhook/errors/statuserror.go). */
function denial(name: string, status: unknown): StatusError {
  const given = isRecord(status) ? status : {};
  const message = typeof given['message'] === 'string' ? given['message'] : '';
  const reason = typeof given['reason'] === 'string' ? given['reason'] : '';
  const code = typeof given['code'] === 'number' && given['code'] >= 400 ? given['code'] : 400;
  const explanation = message === '' ? reason : message;
  const denied = `admission webhook ${quoted(name)} denied the request`;
  return new StatusError(
    code,
    reason,
    explanation === '' ? `${denied} without explanation` : `${denied}: ${explanation}`,
    given['details'],
  );
}
