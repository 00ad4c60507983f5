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

/** What arrived, and how it got here. */
interface Arrived {
  readonly host: string | undefined;
  readonly url: string | undefined;
  /** Where the proxy was told to connect to, if there was one. */
  readonly through: readonly string[];
}

async function opened(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return await listen(server, 0, '127.0.0.1');
}

/** Makes one request. */
async function arrivedAt(address: (port: number) => string, { proxied = false } = {}): Promise<Arrived> {
  const { port, seen } = await startApiServer();
  const { proxy, through } = proxied ? await startProxy(port) : { proxy: undefined, through: [] };
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
  return { host: undefined, url: undefined, ...seen.at(-1), through };
}

async function startApiServer(): Promise<{
  readonly port: number;
  readonly seen: readonly Omit<Arrived, 'through'>[];
}> {
  const names = { dnsNames: ['localhost', 'api.example'], ipAddresses: ['127.0.0.1', '2001:db8::10'] };
  const { certificatePem, privateKeyPem } = await issueLeaf({ authority: await authority, ...names, days: 1, now });
  const seen: Omit<Arrived, 'through'>[] = [];
  const server = createServer({ key: privateKeyPem, cert: certificatePem }, ({ headers, url }, response) => {
    seen.push({ host: headers.host, url });
    response.setHeader('content-type', 'application/json').end('{}');
  });
  return { port: await opened(server), seen };
}

/** An HTTP proxy that leads to this port of this machine, whatever it is told. */
async function startProxy(port: number): Promise<{ readonly proxy: string; readonly through: readonly string[] }> {
  const through: string[] = [];
  const proxy = createProxy().on('connect', ({ url = '' }: IncomingMessage, client: Duplex) => {
    through.push(url);
    const upstream = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
    for (const socket of [client, upstream]) socket.on('error', () => upstream.destroy());
  });
  return { proxy: `http://127.0.0.1:${await opened(proxy)}`, through };
}

test('to a name and a port', async () => {
  const { host, url } = await arrivedAt((port) => `https://localhost:${port}`);
  expect(host).toMatch(/^localhost:\d+$/);
  expect(url).toBe('/api/v1/nodes?limit=1');
});

test.each(['/k8s/clusters/c-1', '/k8s/clusters/c-1/'])(
  'below the path %s, behind which several clusters may be',
  async (base) => {
    const { url } = await arrivedAt((port) => `https://127.0.0.1:${port}${base}`);
    expect(url).toBe('/k8s/clusters/c-1/api/v1/nodes?limit=1');
  },
);

test('through a proxy', async () => {
  const { host, url, through } = await arrivedAt(() => 'https://api.example:6443', { proxied: true });
  expect(through).toEqual(['api.example:6443']);
  expect(host).toBe('api.example:6443');
  expect(url).toBe('/api/v1/nodes?limit=1');
});

test.each([
  ['https://[2001:db8::10]:6443', { host: '2001:db8::10', port: '6443' }, '[2001:db8::10]:6443'],
  ['https://[2001:db8::10]', { host: '2001:db8::10', port: 443 }, '[2001:db8::10]'],
])('to %s, an address of IPv6', async (server, to, header) => {
  const connections: object[] = [];
  let port = 0;
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
  // There need be no IPv6 here: what would go there goes to this machine, and is checked as if it were there.
  vi.spyOn(Agent.prototype, 'createConnection').mockImplementation((options: object) => {
    connections.push(options);
    return tlsConnect({ ...options, socket: connect(port, '127.0.0.1') });
  });
  const { host } = await arrivedAt((ofServer) => {
    port = ofServer;
    return server;
  });
  expect(connections).toMatchObject([to]);
  expect(host).toBe(header);
});
