import type { RequestListener } from 'node:http';
import { type Cluster, KubeConfig } from '@kubernetes/client-node';
import { onTestFinished } from 'vitest';
import { type ApiRequest, KubeApi, type KubeApiOptions } from '../../src/kube/api.ts';
import { KubeConnection } from '../../src/client/kube-connection.ts';
import { startHttpsServer } from '../support/tls.ts';

/**
 * Starts a server and a client of it until the end of the test.
 *
 * @param toCluster returns what the kubeconfig says about the server with this port, if it is not only its address
 */
export async function startApi(
  onRequest: RequestListener,
  options?: KubeApiOptions,
  toCluster: (port: number) => Partial<Cluster> | Promise<Partial<Cluster>> = () => ({}),
) {
  const { port, sockets } = await startHttpsServer(onRequest);
  const config = new KubeConfig();
  const address = { name: 'one', server: `https://127.0.0.1:${port}`, skipTLSVerify: true };
  const cluster = { ...address, ...(await toCluster(port)) };
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
