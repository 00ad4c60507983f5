import { json } from 'node:stream/consumers';
import { buildWebhookConfiguration } from './webhook-configuration.ts';
import type { TestCluster } from './test-cluster.ts';
import { startHttpsServer } from './tls.ts';

type SentReview = Readonly<{ request: Readonly<Record<'uid' | 'name', string>> }>;

/** Starts a webhook until the end of the test. The test gives its `response`, without the uid. */
export async function stubWebhook(respond: (review: SentReview) => Readonly<Record<string, unknown>>) {
  const { port, ca } = await startHttpsServer((request, response) => {
    void json(request).then((body) => {
      const sent = body as SentReview;
      const review = { ...sent, request: undefined, response: { uid: sent.request.uid, ...respond(sent) } };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(review));
    });
  });
  return { url: `https://127.0.0.1:${port}/validate`, caBundle: Buffer.from(ca).toString('base64') };
}

export function register(cluster: TestCluster, clientConfig: { readonly url: string; readonly caBundle: string }) {
  const configuration = buildWebhookConfiguration({ clientConfig, failurePolicy: 'Fail' });
  cluster.create('validatingwebhookconfigurations', configuration);
}
