import { randomUUID } from 'node:crypto';
import { callWebhook } from './call-webhook.ts';
import type { Kind } from './kinds.ts';
import { isRecord, type KubeObject } from './kube-object.ts';
import { matchesWebhook, type RegisteredWebhook } from './registered-webhook.ts';
import { internalError, StatusError } from './status-error.ts';

export interface Deletion {
  readonly kind: Kind;
  readonly object: KubeObject;
  readonly user: string;
  readonly isDryRun: boolean;
}

/**
 * Calls the webhooks in parallel, like kube-apiserver 1.33 (k8s.io/apiserver,
 * admission/plugin/webhook/validating/dispatcher.go).
 *
 * @returns the warnings for the client
 * @throws StatusError if a webhook denies the deletion, or fails without failurePolicy Ignore
 */
export async function admitDeletion(webhooks: readonly RegisteredWebhook[], deletion: Deletion): Promise<string[]> {
  const { kind, object } = deletion;
  const matching = webhooks.filter((webhook) => matchesWebhook(webhook, kind, object.metadata.name));
  const warnings = await Promise.all(matching.map(async (webhook) => await askWebhook(webhook, deletion)));
  return warnings.flat();
}

async function askWebhook(webhook: RegisteredWebhook, deletion: Deletion): Promise<readonly string[]> {
  const { name, failurePolicy } = webhook;
  const uid = randomUUID();
  let response: ReviewResponse;
  try {
    response = parseResponse(uid, await callWebhook(webhook, toAdmissionReview(uid, deletion)));
  } catch (error) {
    if (failurePolicy === 'Ignore') return [];
    throw internalError(`failed calling webhook "${name}": ${(error as Error).message}`);
  }
  if (response.allowed !== true) throw toStatusError(name, response);
  return response.warnings ?? [];
}

function toAdmissionReview(uid: string, { kind, object, user, isDryRun }: Deletion): unknown {
  const [version] = kind.versions;
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
      name: object.metadata.name,
      operation: 'DELETE',
      userInfo: { username: user },
      object: null,
      oldObject: object,
      dryRun: isDryRun,
      options: { kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/v1' },
    },
  };
}

interface ReviewResponse {
  readonly uid?: unknown;
  readonly allowed?: unknown;
  readonly status?: { readonly code?: number; readonly reason?: string; readonly message?: string };
  readonly warnings?: readonly string[];
}

function parseResponse(uid: string, answer: unknown): ReviewResponse {
  const response: unknown = isRecord(answer) ? answer['response'] : undefined;
  if (isRecord(response) && response['uid'] === uid) return response;
  throw new Error('received invalid webhook response: webhook response was absent or has another uid');
}

/** Formats the denial like k8s.io/apiserver, admission/plugin/webhook/errors/statuserror.go. */
function toStatusError(name: string, { status = {} }: ReviewResponse): StatusError {
  const { code = 400, reason = '', message = reason } = status;
  const explanation = message === '' ? ' without explanation' : `: ${message}`;
  return new StatusError(code, reason, `admission webhook "${name}" denied the request${explanation}`);
}
