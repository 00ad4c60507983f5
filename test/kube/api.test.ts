import { createServer as createProxy, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent, createServer } from 'node:https';
import { connect, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as tlsConnect } from 'node:tls';
import { KubeConfig } from '@kubernetes/client-node';
import { expect, onTestFinished, test, vi } from 'vitest';
import { KubeApi, type KubeApiOptions } from '../../src/kube/api.ts';
import { connectionFromKubeconfig, KubeConnection, KubeconfigError } from '../../src/kube/connection.ts';
import { listen } from '../../src/webhook/tls-server.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import { testTls } from '../support/tls.ts';

async function listenUntilEnd(server: Server) {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return await listen(server, 0, '127.0.0.1');
}

/** Sends one request to a server whose address depends on its port, and returns what the server received. */
async function sendRequest(address: (port: number) => string, proxyUrl?: (port: number) => Promise<string>) {
  const { certificatePem: cert, privateKeyPem: key } = await (await testTls()).leaf();
  const received: { host: string | undefined; url: string | undefined }[] = [];
  const server = createServer({ key, cert }, ({ headers: { host }, url }, response) => {
    received.push({ host, url });
    response.setHeader('content-type', 'application/json').end('{}');
  });
  const port = await listenUntilEnd(server);
  const cluster = {
    server: address(port),
    'insecure-skip-tls-verify': true,
    ...(proxyUrl === undefined ? {} : { 'proxy-url': await proxyUrl(port) }),
  };
  const kubeconfig = {
    'current-context': 'one',
    clusters: [{ name: 'one', cluster }],
    users: [{ name: 'one', user: { token: 'token' } }],
    contexts: [{ name: 'one', context: { cluster: 'one', user: 'one' } }],
  };
  const api = new KubeApi(connectionFromKubeconfig(JSON.stringify(kubeconfig)));
  onTestFinished(() => api.close());
  await api.json({ path: '/api/v1/nodes?limit=1', signal: new AbortController().signal });
  return received[0];
}

test.each(['/k8s/clusters/c-1', '/k8s/clusters/c-1/'])('sends a request below the path %s', async (base) => {
  const received = await sendRequest((port) => `https://127.0.0.1:${port}${base}`);
  expect(received?.url).toBe('/k8s/clusters/c-1/api/v1/nodes?limit=1');
});

test('sends a request through a proxy', async () => {
  const proxied: string[] = [];
  const startProxy = async (port: number) => {
    const proxy = createProxy().on('connect', ({ url = '' }: IncomingMessage, client: Duplex) => {
      proxied.push(url);
      const upstream = connect(port, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        upstream.pipe(client).pipe(upstream);
      });
      for (const socket of [client, upstream]) socket.on('error', () => upstream.destroy());
    });
    return `http://127.0.0.1:${await listenUntilEnd(proxy)}`;
  };
  const received = await sendRequest(() => 'https://api.example:6443', startProxy);
  expect(proxied).toEqual(['api.example:6443']);
  expect(received).toEqual({ host: 'api.example:6443', url: '/api/v1/nodes?limit=1' });
});

test.each([
  ['https://[2001:db8::10]:6443', { host: '2001:db8::10', port: '6443' }, '[2001:db8::10]:6443'],
  ['https://[2001:db8::10]', { host: '2001:db8::10', port: 443 }, '[2001:db8::10]'],
])('sends a request to the IPv6 address %s', async (server, address, host) => {
  const connections: object[] = [];
  let port = 0;
  // This machine may lack IPv6, so the connection goes to 127.0.0.1.
  vi.spyOn(Agent.prototype, 'createConnection').mockImplementation((options: object) => {
    connections.push(options);
    return tlsConnect({ ...options, socket: connect(port, '127.0.0.1') });
  });
  const received = await sendRequest((serverPort) => {
    port = serverPort;
    return server;
  });
  expect(connections).toMatchObject([address]);
  expect(received?.host).toBe(host);
});

test('rejects with the 401 if the kubeconfig can no longer be read', async () => {
  const { certificatePem: cert, privateKeyPem: key } = await (await testTls()).leaf();
  const server = createServer({ key, cert }, (_request, response) => void response.writeHead(401).end());
  const config = new KubeConfig();
  const url = `https://127.0.0.1:${await listenUntilEnd(server)}`;
  config.loadFromClusterAndUser({ name: 'one', server: url, skipTLSVerify: true }, { name: 'one' });
  const load = vi.fn<() => KubeConfig>(() => config);
  const api = new KubeApi(new KubeConnection(load));
  onTestFinished(() => api.close());
  load.mockImplementation(() => {
    throw new KubeconfigError('the kubeconfig is empty');
  });

  const request = api.json({ path: '/api', signal: new AbortController().signal });

  await expect(request).rejects.toMatchObject({ status: 401 });
  expect(load).toHaveBeenCalledTimes(2);
});

async function getFrom(respond: (response: ServerResponse) => void, options?: KubeApiOptions): Promise<unknown> {
  const { certificatePem: cert, privateKeyPem: key } = await (await testTls()).leaf();
  const server = createServer({ key, cert }, (_request, response) => respond(response));
  const config = new KubeConfig();
  const url = `https://127.0.0.1:${await listenUntilEnd(server)}`;
  config.loadFromClusterAndUser({ name: 'one', server: url, skipTLSVerify: true }, { name: 'one' });
  const api = new KubeApi(new KubeConnection(() => config), 'test', options);
  onTestFinished(() => api.close());
  return await api.json({ path: '/api', signal: new AbortController().signal });
}

test.each([
  ['7', 7_000],
  ['Infinity', 60_000],
])('believes a Retry-After of %s for at most a minute', async (retryAfter, retryAfterMs) => {
  const response = getFrom((response) => void response.writeHead(429, { 'retry-after': retryAfter }).end());
  await expect(response).rejects.toMatchObject({ status: 429, retryAfterMs });
});

test('reads at most 16 MiB of JSON', async () => {
  const response = getFrom((response) => void response.end(`"${'x'.repeat(17 * 1024 * 1024)}"`));
  await expect(response).rejects.toThrow(/is too large$/);
});

test('ends a request after its timeout, although a garbage collection runs before', async () => {
  const respond = (response: ServerResponse): void => {
    response.write('{');
    // The request waits for the rest of the body.
    setImmediate(collectGarbage);
  };
  // On a slow machine it ends before the first byte.
  const problem = /^the response is incomplete|^took longer than 500 ms/;
  await expect(getFrom(respond, { requestTimeoutMs: 500 })).rejects.toThrow(problem);
});
