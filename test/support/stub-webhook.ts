import { createServer } from 'node:https';
import { json } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { buildWebhookConfiguration } from '../../src/install/webhook-configuration.ts';
import { listen } from '../../src/webhook/tls-server.ts';
import type { TestCluster } from './test-cluster.ts';
import { testTls } from './tls.ts';

export interface SentReview {
  readonly kind: string;
  readonly apiVersion: string;
  readonly request: Readonly<Record<string, unknown>> & { readonly uid: string };
}

/** What the webhook sends back: a `response` without its uid, another body, or nothing. */
export type StubAnswer =
  | { readonly response: Readonly<Record<string, unknown>> }
  | { readonly status?: number; readonly body: string }
  | 'nothing';

export interface StubWebhook {
  readonly at: { readonly url: string; readonly caBundle: string };
  readonly calls: SentReview[];
}

/** Starts a webhook that answers as the test says, until the end of the test. */
export async function stubWebhook(answer: (review: SentReview) => StubAnswer): Promise<StubWebhook> {
  const tls = await testTls();
  const { certificatePem, privateKeyPem } = await tls.leaf();
  const calls: SentReview[] = [];
  const server = createServer({ key: privateKeyPem, cert: certificatePem }, (request, response) => {
    void json(request).then((body) => {
      const sent = body as SentReview;
      calls.push(sent);
      const reply = answer(sent);
      if (reply === 'nothing') return;
      if ('body' in reply) {
        response.writeHead(reply.status ?? 200).end(reply.body);
        return;
      }
      const review = {
        ...sent,
        request: undefined,
        response: { uid: sent.request.uid, ...reply.response },
      };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(review));
    });
  });
  const port = await listen(server, 0, '127.0.0.1');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const caBundle = Buffer.from(tls.ca).toString('base64');
  return { at: { url: `https://127.0.0.1:${port}/validate`, caBundle }, calls };
}

export function register(
  cluster: TestCluster,
  clientConfig: StubWebhook['at'],
  failurePolicy: 'Fail' | 'Ignore' = 'Fail',
) {
  cluster.create('validatingwebhookconfigurations', buildWebhookConfiguration({ clientConfig, failurePolicy }));
}
