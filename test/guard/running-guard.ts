import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished } from 'vitest';
import { AUTHORITY_SECRET_PATH } from '../../src/api/paths.ts';
import { createAuthority } from '../../src/certificates/authority.ts';
import { followAuthoritySecret } from '../../src/certificates/authority-secret.ts';
import { runGuard } from '../../src/guard/guard.ts';
import type { Interceptor } from '../support/faults.ts';
import { memoryLog } from '../support/log.ts';
import { reviewBody } from '../support/review.ts';
import { startTestCluster } from '../support/test-cluster.ts';
import { runUntilEnd } from '../support/until-end.ts';

const [, SECRET_NAMESPACE = '', SECRET_NAME = ''] = /namespaces\/(.*)\/secrets\/(.*)/.exec(AUTHORITY_SECRET_PATH) ?? [];

const encode = (plain: string) => Buffer.from(plain).toString('base64');

/**
 * Runs a guard as `serve` does, with the authority in the Secret and the constants of production, until the end of the
 * test. The API server accepts each token, and lets its owner read the metrics.
 */
export async function startRunningGuard({
  shutdownDelayMs = 0,
  onRequest = () => 'pass',
}: { readonly shutdownDelayMs?: number; readonly onRequest?: Interceptor } = {}) {
  const cluster = await startTestCluster();
  cluster.faults.intercept(onRequest);
  cluster.faults.intercept(({ path }) => {
    if (!path.endsWith('reviews')) return 'pass';
    return { status: 201, body: { status: { authenticated: true, user: { username: 'x' }, allowed: true } } };
  });
  cluster.create('apiservers', { metadata: { name: 'cluster' } });
  cluster.create('nodes', { metadata: { name: 'worker-0' } });
  const authority = await createAuthority({ days: 1, now: new Date() });
  const data = { 'ca.crt': encode(authority.certificatePem), 'ca.key': encode(authority.privateKeyPem) };
  cluster.create('secrets', { metadata: { name: SECRET_NAME, namespace: SECRET_NAMESPACE }, data });
  const { log, lines } = memoryLog();
  const api = cluster.connect();
  const options = {
    api,
    log,
    bindAddress: '127.0.0.1',
    securePort: 0,
    healthPort: 0,
    metricsPort: 0,
    shutdownDelayMs,
    loadCertificate: (signal: AbortSignal) =>
      followAuthoritySecret({ api, namespace: SECRET_NAMESPACE, name: SECRET_NAME, log, signal }),
    initialSpec: {},
    leaseNamespace: undefined,
  };
  const end = runUntilEnd(async (signal) => await runGuard(options, once(signal, 'abort')));
  const findPorts = () => lines.find((line) => line['msg'] === 'ready');
  await expect.poll(findPorts).toBeDefined();

  // As the API server, the client keeps its connections.
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const call = async (port: 'securePort' | 'metricsPort', path: string, body?: object) => {
    const sent = request({
      host: '127.0.0.1',
      port: Number(findPorts()?.[port]),
      method: body === undefined ? 'GET' : 'POST',
      path,
      headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
      ca: authority.certificatePem,
      servername: 'machineconfig-guard.machineconfig-guard.svc',
      agent,
    });
    sent.end(JSON.stringify(body));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    return { headers: answer.headers, body: await text(answer) };
  };
  return {
    cluster,
    end,
    scrape: async () => (await call('metricsPort', '/metrics')).body,
    /** Asks for the deletion of a config of the cluster. */
    review: async (config: string) => {
      const oldObject = { metadata: cluster.get('machineconfigs', config)?.metadata };
      return await call('securePort', '/validate?timeout=5s', reviewBody({ name: config, oldObject }));
    },
  };
}
