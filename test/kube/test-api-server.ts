import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { onTestFinished } from 'vitest';
import { type ApiRequest, KubeApi, type KubeApiOptions } from '../../src/kube/api.ts';
import { KubeConnection } from '../../src/kube/connection.ts';
import { listen } from '../../src/webhook/tls-server.ts';
import { testTls } from '../support/tls.ts';

/** Starts an HTTPS server until the end of the test. */
export async function startServer(onRequest: RequestListener) {
  const { certificatePem: cert, privateKeyPem: key } = await (await testTls()).leaf();
  const server = createServer({ key, cert }, onRequest);
  const sockets: Socket[] = [];
  server.on('secureConnection', (socket) => sockets.push(socket));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { port: await listen(server, 0, '127.0.0.1'), sockets };
}

/** Starts a server and a client of it until the end of the test. */
export async function startApi(onRequest: RequestListener, options?: KubeApiOptions) {
  const { port, sockets } = await startServer(onRequest);
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
