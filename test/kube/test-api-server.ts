import type { RequestListener } from 'node:http';
import { KubeConfig } from '@kubernetes/client-node';
import { onTestFinished } from 'vitest';
import { type ApiRequest, KubeApi, type KubeApiOptions } from '../../src/kube/api.ts';
import { KubeConnection } from '../../src/kube/connection.ts';
import { startHttpsServer } from '../support/tls.ts';

/** Starts a server and a client of it until the end of the test. */
export async function startApi(onRequest: RequestListener, options?: KubeApiOptions) {
  const { port, sockets } = await startHttpsServer(onRequest);
  const config = new KubeConfig();
  const cluster = { name: 'one', server: `https://127.0.0.1:${port}`, skipTLSVerify: true };
  config.loadFromClusterAndUser(cluster, { name: 'one' });
  /** How the credentials are read again. */
  const source = { load: () => config };
  const api = new KubeApi(new KubeConnection(() => source.load()), 'test', options);
  onTestFinished(() => api.close());
  const send = async (request: Partial<ApiRequest> = {}) =>
    await api.json({ path: '/api', signal: new AbortController().signal, ...request });
  const sendInParallel = async (count: number, request?: Partial<ApiRequest>) =>
    await Promise.all(Array.from({ length: count }, async () => await send(request)));
  const countOpen = () => sockets.filter(({ closed }) => !closed).length;
  return { send, sendInParallel, sockets, countOpen, source };
}
