import { createServer as createProxy, type IncomingMessage } from 'node:http';
import { Agent, createServer } from 'node:https';
import { connect, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as tlsConnect } from 'node:tls';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createAuthority } from '../../src/certificates/authority.ts';
import { issueLeaf } from '../../src/certificates/leaf.ts';
import { KubeApi } from '../../src/kube/api.ts';
import { connectionFromKubeconfig } from '../../src/kube/connection.ts';
import { listen } from '../../src/webhook/tls-server.ts';

const now = new Date();
const authority = createAuthority({ days: 1, now });

/** A request that the API server received. */
interface ReceivedRequest {
  readonly host: string | undefined;
  readonly url: string | undefined;
  /** The addresses that the proxy was asked to connect to. */
  readonly proxied: readonly string[];
}

async function listenUntilEnd(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return await listen(server, 0, '127.0.0.1');
}

/** Sends one request to a server whose address depends on its port. */
async function sendRequest(address: (port: number) => string, { hasProxy = false } = {}): Promise<ReceivedRequest> {
  const { port, requests } = await startApiServer();
  const { proxy, proxied } = hasProxy ? await startProxy(port) : { proxy: undefined, proxied: [] };
  const cluster = {
    server: address(port),
    'certificate-authority-data': Buffer.from((await authority).certificatePem).toString('base64'),
    ...(proxy === undefined ? {} : { 'proxy-url': proxy }),
  };
  const kubeconfig = {
    'current-context': 'one',
    clusters: [{ name: 'one', cluster }],
    users: [{ name: 'one', user: { token: 'token' } }],
    contexts: [{ name: 'one', context: { cluster: 'one', user: 'one' } }],
  };
  const api = new KubeApi(connectionFromKubeconfig(JSON.stringify(kubeconfig)));
  onTestFinished(() => {
    api.close();
  });
  await api.json({ path: '/api/v1/nodes?limit=1', signal: AbortSignal.timeout(5_000) });
  return { host: undefined, url: undefined, ...requests.at(-1), proxied };
}

async function startApiServer(): Promise<{
  readonly port: number;
  readonly requests: readonly Omit<ReceivedRequest, 'proxied'>[];
}> {
  const names = { dnsNames: ['localhost', 'api.example'], ipAddresses: ['127.0.0.1', '2001:db8::10'] };
  const { certificatePem, privateKeyPem } = await issueLeaf({ authority: await authority, ...names, days: 1, now });
  const requests: Omit<ReceivedRequest, 'proxied'>[] = [];
  const server = createServer({ key: privateKeyPem, cert: certificatePem }, ({ headers, url }, response) => {
    requests.push({ host: headers.host, url });
    response.setHeader('content-type', 'application/json').end('{}');
  });
  return { port: await listenUntilEnd(server), requests };
}

/** Starts an HTTP proxy that connects every client to this port of this machine. */
async function startProxy(port: number): Promise<{ readonly proxy: string; readonly proxied: readonly string[] }> {
  const proxied: string[] = [];
  const proxy = createProxy().on('connect', ({ url = '' }: IncomingMessage, client: Duplex) => {
    proxied.push(url);
    const upstream = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
    for (const socket of [client, upstream]) socket.on('error', () => upstream.destroy());
  });
  return { proxy: `http://127.0.0.1:${await listenUntilEnd(proxy)}`, proxied };
}

test('sends a request to a name and a port', async () => {
  const { host, url } = await sendRequest((port) => `https://localhost:${port}`);
  expect(host).toMatch(/^localhost:\d+$/);
  expect(url).toBe('/api/v1/nodes?limit=1');
});

test.each(['/k8s/clusters/c-1', '/k8s/clusters/c-1/'])('sends a request below the path %s', async (base) => {
  const { url } = await sendRequest((port) => `https://127.0.0.1:${port}${base}`);
  expect(url).toBe('/k8s/clusters/c-1/api/v1/nodes?limit=1');
});

test('sends a request through a proxy', async () => {
  const { host, url, proxied } = await sendRequest(() => 'https://api.example:6443', { hasProxy: true });
  expect(proxied).toEqual(['api.example:6443']);
  expect(host).toBe('api.example:6443');
  expect(url).toBe('/api/v1/nodes?limit=1');
});

test.each([
  ['https://[2001:db8::10]:6443', { host: '2001:db8::10', port: '6443' }, '[2001:db8::10]:6443'],
  ['https://[2001:db8::10]', { host: '2001:db8::10', port: 443 }, '[2001:db8::10]'],
])('sends a request to the IPv6 address %s', async (server, address, header) => {
  const connections: object[] = [];
  let port = 0;
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
  // This machine may lack IPv6, so the connection goes to 127.0.0.1.
  vi.spyOn(Agent.prototype, 'createConnection').mockImplementation((options: object) => {
    connections.push(options);
    return tlsConnect({ ...options, socket: connect(port, '127.0.0.1') });
  });
  const { host } = await sendRequest((serverPort) => {
    port = serverPort;
    return server;
  });
  expect(connections).toMatchObject([address]);
  expect(host).toBe(header);
});
