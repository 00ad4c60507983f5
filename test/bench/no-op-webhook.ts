import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

import { ThrowawayAuthority } from '../e2e/control-plane/certificates.ts';

/** How the API server reaches a webhook. */
export interface WebhookAddress {
  readonly url: string;
  readonly caBundle: string;
}

/** A running webhook. */
export interface RunningWebhook extends WebhookAddress {
  readonly calls: () => number;
  readonly stop: () => Promise<void>;
}

/**
 * The least that a webhook on node:https can do: read the review, allow it. In this process, so that it costs not even the switch
 * to another one: a baseline should be hard to beat.
 */
export async function startNoOpWebhook(): Promise<RunningWebhook> {
  const authority = new ThrowawayAuthority();
  const { key, certificate } = authority.server();
  let calls = 0;
  const server = createServer({ key, cert: certificate, keepAliveTimeout: 120_000 }, (request, response) => {
    void text(request).then((body) => {
      calls += 1;
      const { uid } = (JSON.parse(body) as { readonly request: { readonly uid: string } }).request;
      const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid, allowed: true } };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(review));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/validate`,
    caBundle: Buffer.from(authority.certificate).toString('base64'),
    calls: () => calls,
    stop: async () => {
      server.closeAllConnections();
      await once(server.close(), 'close');
    },
  };
}
