import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { json } from 'node:stream/consumers';
import type { V1ValidatingWebhook } from '@kubernetes/client-node';
import { ApiError } from '../../../src/kube/errors.ts';
import type { InMemoryCluster } from './in-memory-cluster.ts';

interface Deletion {
  readonly uid: string;
  readonly resource: Readonly<Record<'group' | 'version' | 'resource', string>>;
  readonly [field: string]: unknown;
}

interface ReviewResponse {
  readonly uid: string;
  readonly allowed: boolean;
  readonly status?: { readonly code?: number; readonly reason?: string; readonly message?: string };
}

/**
 * Calls the webhooks like the kube-apiserver of OpenShift 4.14, which has no matchConditions (k8s.io/apiserver,
 * admission/plugin/webhook/validating/dispatcher.go).
 * @throws ApiError if a webhook denies the deletion, or fails without failurePolicy Ignore
 */
export async function askWebhooks(cluster: InMemoryCluster, deletion: Deletion): Promise<void> {
  const configurations = cluster.list('validatingwebhookconfigurations');
  const webhooks = configurations.flatMap(({ webhooks = [] }) => webhooks as readonly V1ValidatingWebhook[]);
  const matching = webhooks.filter(({ rules = [] }) =>
    rules.some(({ resources = [] }) => resources.includes(deletion.resource.resource)),
  );
  await Promise.all(matching.map(async (webhook) => await askWebhook(webhook, deletion)));
}

async function askWebhook(webhook: V1ValidatingWebhook, deletion: Deletion): Promise<void> {
  const response = await callWebhook(webhook, deletion).catch(({ message }: Error) => {
    if (webhook.failurePolicy === 'Ignore') return undefined;
    const reason = `failed calling webhook "${webhook.name}": ${message}`;
    throw new ApiError(500, 'InternalError', `Internal error occurred: ${reason}`);
  });
  if (response === undefined || response.allowed) return;
  const { code = 400, reason = '', message = '' } = response.status ?? {};
  throw new ApiError(code, reason, `admission webhook "${webhook.name}" denied the request: ${message}`);
}

async function callWebhook(webhook: V1ValidatingWebhook, deletion: Deletion): Promise<ReviewResponse> {
  const { clientConfig, timeoutSeconds = 10 } = webhook;
  const call = request(`${clientConfig.url}?timeout=${timeoutSeconds}s`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    ca: Buffer.from(clientConfig.caBundle ?? '', 'base64'),
    agent: false,
    // Limits the whole call. Received bytes do not reset the timeout.
    signal: AbortSignal.timeout(timeoutSeconds * 1_000),
  });
  call.end(JSON.stringify({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', request: deletion }));
  const [answer] = (await once(call, 'response')) as [IncomingMessage];
  const { response } = (await json(answer)) as { readonly response?: ReviewResponse };
  if (response?.uid !== deletion.uid) throw new Error('webhook response was absent or has another uid');
  return response;
}
