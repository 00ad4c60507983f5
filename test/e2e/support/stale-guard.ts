import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

import { buildWebhookConfiguration } from '../../../src/install/webhook-configuration.ts';
import { ThrowawayAuthority } from '../control-plane/certificates.ts';
import type { KubeClient } from '../control-plane/kube-client.ts';
import { pause, until } from '../control-plane/until.ts';
import { machineConfig, renderedName } from './objects.ts';
import { PATHS } from './paths.ts';

/** How old its knowledge may be: little, as that of a busy informer. */
const REFRESH_MS = 50;

/**
 * A guard with the flaw that the races look for: it decides by a cache of the nodes. Registers itself; what it returns
 * stops it.
 */
export async function startStaleGuard(admin: KubeClient): Promise<() => Promise<void>> {
  const authority = new ThrowawayAuthority();
  const { key, certificate } = authority.server();
  let inUse = new Set<string>();
  let asked = false;

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    asked = true;
    const { uid, oldObject } = (JSON.parse(await text(request)) as Review).request;
    const allowed = !inUse.has(oldObject.metadata.name);
    const status = { status: 'Failure', code: 403, message: 'MCG_IN_USE: as far as is known' };
    const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid, allowed, status } };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(review));
  };
  const server = createServer({ key, cert: certificate }, (request, response) => void answer(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');

  const stopping = new AbortController();
  const refreshing = (async () => {
    while (!stopping.signal.aborted) {
      const nodes = await admin.list(PATHS.nodes);
      inUse = new Set(nodes.flatMap(({ metadata }) => Object.values(metadata.annotations ?? {})));
      await pause(REFRESH_MS);
    }
  })();

  const clientConfig = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/validate`,
    caBundle: Buffer.from(authority.certificate).toString('base64'),
  };
  await admin.create(PATHS.webhookConfigurations, buildWebhookConfiguration({ clientConfig, failurePolicy: 'Fail' }));
  const probe = renderedName('probe');
  await admin.create(PATHS.configs, machineConfig({ name: probe }));
  await until(
    'the API server to call the stale guard',
    async () => {
      await admin.delete(`${PATHS.configs}/${probe}`, { dryRun: 'All' });
      return asked;
    },
    { timeoutMs: 20_000 },
  );

  return async () => {
    stopping.abort();
    await refreshing;
    server.closeAllConnections();
    await once(server.close(), 'close');
  };
}

interface Review {
  readonly request: { readonly uid: string; readonly oldObject: { readonly metadata: { readonly name: string } } };
}
