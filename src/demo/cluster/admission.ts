import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { ApiError } from '../../kube/errors.ts';
import type { InMemoryCluster, KubeObject } from './in-memory-cluster.ts';
import type { Kind } from './kinds.ts';

export interface Deletion {
  readonly kind: Kind;
  readonly object: KubeObject;
  readonly user: string;
  readonly isDryRun: boolean;
}

/** The part of a registration that this API server follows: a call by URL for deletions. */
interface Webhook {
  readonly name: string;
  readonly clientConfig: { readonly url: string; readonly caBundle?: string };
  readonly rules: readonly { readonly resources: readonly string[] }[];
  readonly matchConditions?: readonly { readonly expression: string }[];
  readonly failurePolicy: 'Fail' | 'Ignore';
  readonly timeoutSeconds: number;
}

interface ReviewResponse {
  readonly uid?: unknown;
  readonly allowed?: unknown;
  readonly status?: { readonly code?: number; readonly reason?: string; readonly message?: string };
  readonly warnings?: readonly string[];
}

const NAME_STARTS_WITH = /^oldObject\.metadata\.name\.startsWith\("(?<prefix>[a-z0-9.-]*)"\)$/;

/**
 * Calls the webhooks in parallel, like kube-apiserver 1.33 (k8s.io/apiserver,
 * admission/plugin/webhook/validating/dispatcher.go).
 *
 * @returns the warnings for the client
 * @throws ApiError if a webhook denies the deletion, or fails without failurePolicy Ignore
 */
export async function askWebhooks(cluster: InMemoryCluster, deletion: Deletion): Promise<readonly string[]> {
  const configurations = cluster.list('validatingwebhookconfigurations');
  const webhooks = configurations.flatMap(({ webhooks = [] }) => webhooks as readonly Webhook[]);
  const matching = webhooks.filter((webhook) => matchesDeletion(webhook, deletion));
  const warnings = await Promise.all(matching.map(async (webhook) => await askWebhook(webhook, deletion)));
  return warnings.flat();
}

export function createInternalError(message: string): ApiError {
  return new ApiError(500, 'InternalError', `Internal error occurred: ${message}`);
}

/** The webhook of the guard has no rule for webhook configurations, so an administrator can always delete it. */
function matchesDeletion({ rules, matchConditions = [] }: Webhook, { kind, object }: Deletion): boolean {
  const prefixes = matchConditions.map(({ expression }) => NAME_STARTS_WITH.exec(expression)?.groups?.['prefix']);
  return (
    rules.some(({ resources }) => resources.includes(kind.resource)) &&
    prefixes.every((prefix) => prefix !== undefined && object.metadata.name.startsWith(prefix))
  );
}

async function askWebhook(webhook: Webhook, deletion: Deletion): Promise<readonly string[]> {
  const { name, failurePolicy } = webhook;
  let response: ReviewResponse;
  try {
    response = await callWebhook(webhook, deletion);
  } catch (error) {
    if (failurePolicy === 'Ignore') return [];
    throw createInternalError(`failed calling webhook "${name}": ${(error as Error).message}`);
  }
  const { allowed, status: { code = 400, reason = '', message = reason } = {}, warnings = [] } = response;
  if (allowed === true) return warnings;
  // The text of k8s.io/apiserver, admission/plugin/webhook/errors/statuserror.go.
  const explanation = message === '' ? ' without explanation' : `: ${message}`;
  throw new ApiError(code, reason, `admission webhook "${name}" denied the request${explanation}`);
}

async function callWebhook(webhook: Webhook, deletion: Deletion): Promise<ReviewResponse> {
  const { clientConfig, timeoutSeconds } = webhook;
  const uid = randomUUID();
  const url = new URL(clientConfig.url);
  url.searchParams.set('timeout', `${timeoutSeconds}s`);
  // Limits the whole call. Received bytes do not reset the timeout.
  const signal = AbortSignal.timeout(timeoutSeconds * 1_000);
  const ca = clientConfig.caBundle === undefined ? {} : { ca: Buffer.from(clientConfig.caBundle, 'base64') };
  const headers = { 'content-type': 'application/json', 'user-agent': 'kube-apiserver-admission' };
  try {
    const call = request(url, { method: 'POST', headers, signal, agent: false, ...ca });
    call.end(JSON.stringify(toAdmissionReview(uid, deletion)));
    const [answer] = (await once(call, 'response')) as [IncomingMessage];
    const body = await text(answer);
    if (answer.statusCode !== 200) throw new Error(`an error on the server (${JSON.stringify(body)})`);
    const { response } = JSON.parse(body) as { readonly response?: ReviewResponse };
    if (response?.uid === uid) return response;
    throw new Error('webhook response was absent or has another uid');
  } catch (error) {
    const reason = signal.aborted ? 'context deadline exceeded' : (error as Error).message;
    throw new Error(`failed to call webhook: Post "${url.href}": ${reason}`, { cause: error });
  }
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
