import { getEventListeners, once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { type Cluster, KubeConfig } from '@kubernetes/client-node';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Agent } from 'node:https';
import { connect as connectTcp } from 'node:net';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { connect as tlsConnect } from 'node:tls';
import { type ApiRequest, KubeApi, LISTS, type Purpose, Transport, WATCHES } from '../../src/kube/api.ts';
import { KubeconfigError, KubeConnection } from '../../src/client/kube-connection.ts';
import { startHttpsServer } from '../support/tls.ts';
import { listen } from '../../src/serving/tls-server.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import { fakeUntilEnd } from '../support/until-end.ts';
import { VirtualClock } from '../virtual-time/clock.ts';
import { VirtualNetwork } from '../virtual-time/network.ts';

/**
 * Starts a server and a client of it until the end of the test.
 * @param toCluster returns what the kubeconfig says about the server with this port, if it is not only its address
 */
async function startApi(
  onRequest: RequestListener,
  toCluster: (port: number) => Partial<Cluster> | Promise<Partial<Cluster>> = () => ({}),
) {
  const { port, sockets } = await startHttpsServer(onRequest);
  const config = new KubeConfig();
  const address = { name: 'one', server: `https://127.0.0.1:${port}`, skipTLSVerify: true };
  const cluster = { ...address, ...(await toCluster(port)) };
  config.loadFromClusterAndUser(cluster, { name: 'one' });
  /** How the credentials are read again. */
  const source = { load: () => config };
  return { ...connect(() => source.load()), sockets, source };
}

/** A client until the end of the test. */
function connect(loadConfig: () => KubeConfig) {
  const api = new KubeApi(new KubeConnection(loadConfig), 'test');
  onTestFinished(() => api.close());
  const send = async (request: Partial<ApiRequest> = {}) =>
    await api.json({ path: '/api', signal: new AbortController().signal, ...request });
  const sendInParallel = async (count: number, request?: Partial<ApiRequest>) =>
    await Promise.all(Array.from({ length: count }, async () => await send(request)));
  return { api, send, sendInParallel };
}

/** Sends one request to a server that the kubeconfig describes like this, and returns what the server received. */
async function sendRequest(toCluster: Parameters<typeof startApi>[1]) {
  const received: { host: string | undefined; url: string | undefined }[] = [];
  const onRequest: RequestListener = ({ headers: { host }, url }, response) => {
    received.push({ host, url });
    response.end('{}');
  };
  const { send } = await startApi(onRequest, toCluster);
  await send({ path: '/api/v1/nodes?limit=1' });
  return received[0];
}

test.each(['/k8s/clusters/c-1', '/k8s/clusters/c-1/'])('sends a request below the path %s', async (base) => {
  const received = await sendRequest((port) => ({ server: `https://127.0.0.1:${port}${base}` }));
  expect(received?.url).toBe('/k8s/clusters/c-1/api/v1/nodes?limit=1');
});

test('sends a request through a proxy', async () => {
  const proxied: string[] = [];
  const received = await sendRequest(async (port) => {
    const proxy = createServer().on('connect', ({ url = '' }: IncomingMessage, client: Duplex) => {
      proxied.push(url);
      const upstream = connectTcp(port, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        upstream.pipe(client).pipe(upstream);
      });
      for (const socket of [client, upstream]) socket.on('error', () => upstream.destroy());
      onTestFinished(() => void client.destroy());
    });
    onTestFinished(() => void proxy.close());
    const proxyUrl = `http://127.0.0.1:${await listen(proxy, 0, '127.0.0.1')}`;
    return { server: 'https://api.example:6443', proxyUrl };
  });
  expect(proxied).toEqual(['api.example:6443']);
  expect(received).toEqual({ host: 'api.example:6443', url: '/api/v1/nodes?limit=1' });
});

test('sends a request to an IPv6 address', async () => {
  let port = 0;
  // This machine may lack IPv6, so the connection goes to 127.0.0.1.
  const create = vi.spyOn(Agent.prototype, 'createConnection').mockImplementation((options: object) => {
    return tlsConnect({ ...options, socket: connectTcp(port, '127.0.0.1') });
  });
  const received = await sendRequest((serverPort) => {
    port = serverPort;
    return { server: 'https://[2001:db8::10]:6443' };
  });
  expect(create.mock.calls[0]?.[0]).toMatchObject({ host: '2001:db8::10', port: '6443' });
  expect(received?.host).toBe('[2001:db8::10]:6443');
});

test('sends and reads bodies in UTF-8, and sends the length in bytes', async () => {
  const bodies: string[] = [];
  const { send } = await startApi((request, response) => {
    void text(request).then((body) => {
      bodies.push(body);
      response.end(body);
    });
  });
  const body = { user: 'Zoë', reason: '救' };
  expect(await send({ method: 'POST', body })).toEqual(body);
  expect(bodies).toEqual([JSON.stringify(body)]);
});

test('rejects with the 401 if the kubeconfig can no longer be read', async () => {
  const { send, source } = await startApi((_request, response) => void response.writeHead(401).end());
  const load = vi.spyOn(source, 'load').mockImplementation(() => {
    throw new KubeconfigError('the kubeconfig is empty');
  });
  await expect(send()).rejects.toMatchObject({ status: 401 });
  expect(load).toHaveBeenCalledOnce();
});

test('sends a request without TLS if the address says so, and leaves no listener on its signal', async () => {
  const server = createServer((_request, response) => void response.end('{}'));
  const port = await listen(server, 0, '127.0.0.1');
  const { send } = await startApi(
    () => {},
    () => ({ server: `http://127.0.0.1:${port}` }),
  );
  const { signal } = new AbortController();
  expect(await send({ signal })).toEqual({});
  await expect.poll(() => getEventListeners(signal, 'abort')).toEqual([]);
  server.close().closeAllConnections();
  await once(server, 'close');
  // Also after a failure, or a command would end only after its timeout.
  await expect(send({ signal })).rejects.toThrow('ECONNREFUSED');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('opens new connections once the credentials of the TLS connection have changed', () => {
  const transport = new Transport();
  const agent = transport.agentFor({ ca: 'a', cert: 'b' }, LISTS);
  expect(transport.agentFor({ ca: 'a', cert: 'b' }, LISTS)).toBe(agent);
  expect(transport.agentFor({ ca: 'a', cert: 'c' }, LISTS)).not.toBe(agent);
});

test.each([
  [{ 'retry-after': '7' }, { retryAfterMs: 7_000 }],
  [{ 'retry-after': 'Infinity' }, { retryAfterMs: 60_000 }],
  // A list in protobuf, whose status line has the reason.
  [{ 'content-type': 'application/vnd.kubernetes.protobuf' }, { reason: 'TooManyRequests' }],
  // The text of a kubelet, such as why it executes nothing in a container.
  [{ 'content-type': 'text/plain; charset=utf-8' }, { message: 'HTTP 429: k8s\0' }],
  [{ 'content-type': 'text/html' }, { message: 'HTTP 429' }],
])('reads an error with the headers %j as %j', async (headers, error) => {
  const { send } = await startApi((_request, response) => void response.writeHead(429, headers).end('k8s\0'));
  await expect(send()).rejects.toMatchObject({ status: 429, ...error });
});

test('tells the time by the clock of the API server, and by its own one before the first response', async () => {
  fakeUntilEnd('performance', 'Date');
  vi.setSystemTime('2030-01-01T00:00:00Z');
  const { api, send } = await startApi((_request, response) => {
    response.setHeader('date', 'Sat, 21 Nov 2026 12:00:00 GMT').end('{}');
  });
  expect(api.now()).toEqual(new Date('2030-01-01T00:00:00Z'));
  await send({});
  vi.advanceTimersByTime(5_000);
  expect(api.now()).toEqual(new Date('2026-11-21T12:00:05Z'));
});

test('reads at most 16 MiB of JSON', async () => {
  const { send } = await startApi((_request, response) => void response.end(`"${'x'.repeat(17 * 1024 * 1024)}"`));
  await expect(send()).rejects.toThrow('the response is larger than 16 MiB');
});

test('ends a request after its own timeout, although a garbage collection runs before', async () => {
  fakeUntilEnd('setTimeout', 'clearTimeout');
  // The response has started, and the request waits for the rest of the body.
  const exchange = vi.spyOn(Transport.prototype, 'send');
  const { send } = await startApi((_request, response) => void response.write('{'));
  const response = send({ timeoutMs: 500 });
  while (exchange.mock.settledResults[0]?.type !== 'fulfilled') await setImmediate();
  await setImmediate();
  collectGarbage();
  vi.advanceTimersByTime(500);
  await expect(response).rejects.toThrow(/^the response is incomplete/);
});

/** Answers the first requests together, so that each needs a connection of its own. */
function answerTogether(count: number): RequestListener {
  const waiting: ServerResponse[] = [];
  let received = 0;
  return (_request, response) => {
    waiting.push(response);
    received += 1;
    if (received >= count) for (const one of waiting.splice(0)) one.end('{}');
  };
}

const POST = { method: 'POST' } as const;

/** As {@link startApi}, in virtual time. Each connection is a new one of the network. */
async function startVirtualApi(onRequest: RequestListener) {
  const clock = new VirtualClock(1);
  const network = new VirtualNetwork(clock);
  network.serve('api', createServer({ keepAliveTimeout: 0 }, onRequest));
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: 'one', server: 'https://api', skipTLSVerify: true }, { name: 'one' });
  const { send, sendInParallel } = connect(() => config);
  const awaitMany = (...args: Parameters<typeof sendInParallel>) =>
    clock.await(0, 'the answers', sendInParallel(...args));
  return { clock, network, send, sendInParallel: awaitMany };
}

test('closes the idle connections after 1 s without a response to a GET, and sends it only once', async () => {
  const slow: ServerResponse[] = [];
  const answer = answerTogether(3);
  const { clock, network, send, sendInParallel } = await startVirtualApi((request, response) => {
    if (request.url === '/slow') slow.push(response);
    else answer(request, response);
  });
  // A body may be late: only the silence before a response says something about the connection.
  const late = send({ path: '/slow' });
  await clock.settle();
  slow.shift()?.write('{');
  await sendInParallel(3, POST);
  await clock.pass(1_500);
  expect(network.countOpen('api')).toBe(4);
  network.reset('api');
  await expect(clock.await(0, 'the error', late)).rejects.toThrow('the response is incomplete');
  await sendInParallel(3, POST);
  const hanging = send({ path: '/slow' }).catch((error: unknown) => String(error));
  await clock.pass(999);
  expect(network.countOpen('api')).toBe(3);
  await clock.pass(1);
  expect(network.countOpen('api')).toBe(1);
  await clock.pass(3_000);
  slow[0]?.write('{');
  await clock.settle();
  network.reset('api');
  expect(await clock.await(0, 'the error', hanging)).toContain('the response is incomplete');
  expect(slow).toHaveLength(1);
});

test.each<[number, Purpose | undefined]>([
  [32, undefined],
  [2, { name: 'few', maxConnections: 2 }],
])('opens at most %i connections for %s, and closes them after 5 s without a request', async (count, purpose) => {
  const { clock, network, sendInParallel } = await startVirtualApi(answerTogether(count));
  await sendInParallel(100, { ...POST, ...(purpose === undefined ? {} : { purpose }) });
  await clock.pass(4_999);
  expect(network.countOpen('api')).toBe(count);
  await clock.pass(1);
  expect(network.countOpen('api')).toBe(0);
});

test('gives watches and lists own connections, and rejects a waiting request if its signal aborts', async () => {
  const responses: ServerResponse[] = [];
  const { send, sendInParallel, sockets } = await startApi((_request, response) => responses.push(response));
  const others = sendInParallel(32, POST);
  await expect.poll(() => responses.length).toBe(32);
  const own = [WATCHES, LISTS].map((purpose) => send({ purpose }));
  await expect.poll(() => responses.length).toBe(34);
  const abort = new AbortController();
  const waiting = send({ signal: abort.signal });
  abort.abort();
  await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  for (const response of responses) response.end('{}');
  await Promise.all([others, ...own]);
  expect(sockets).toHaveLength(34);
});
