import { json } from 'node:stream/consumers';
import { buildWebhookConfiguration } from '../../src/install/webhook-configuration.ts';
import type { TestCluster } from './test-cluster.ts';
import { startHttpsServer } from './tls.ts';

interface SentReview {
  readonly kind: string;
  readonly apiVersion: string;
  readonly request: Readonly<Record<string, unknown>> & { readonly uid: string };
}

/** What the webhook sends back: a `response` without its uid, another body, or nothing. */
export type StubAnswer =
  | { readonly response: Readonly<Record<string, unknown>> }
  | { readonly status?: number; readonly body: string }
  | 'nothing';

/** Starts a webhook that answers as the test says, until the end of the test. */
export async function stubWebhook(answer: (review: SentReview) => StubAnswer) {
  const calls: SentReview[] = [];
  const { port, ca } = await startHttpsServer((request, response) => {
    void json(request).then((body) => {
      const sent = body as SentReview;
      calls.push(sent);
      const reply = answer(sent);
      if (reply === 'nothing') return;
      if ('body' in reply) {
        response.writeHead(reply.status ?? 200).end(reply.body);
        return;
      }
      const review = { ...sent, request: undefined, response: { uid: sent.request.uid, ...reply.response } };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(review));
    });
  });
  const caBundle = Buffer.from(ca).toString('base64');
  return { at: { url: `https://127.0.0.1:${port}/validate`, caBundle }, calls };
}

export function register(cluster: TestCluster, clientConfig: { readonly url: string; readonly caBundle: string }) {
  const configuration = buildWebhookConfiguration({ clientConfig, failurePolicy: 'Fail' });
  cluster.create('validatingwebhookconfigurations', configuration);
}
