import type { RequestListener, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { expect, onTestFinished, test } from 'vitest';
import { type ApiRequest, KubeApi } from '../../src/kube/api.ts';
import { KubeConnection } from '../../src/kube/connection.ts';
import { listen } from '../../src/webhook/tls-server.ts';
import { testTls } from '../support/tls.ts';

/** Starts a server and a client of it until the end of the test. */
async function startServer(onRequest: RequestListener) {
  const { certificatePem: cert, privateKeyPem: key } = await (await testTls()).leaf();
  const server = createServer({ key, cert }, onRequest);
  const sockets: Socket[] = [];
  server.on('secureConnection', (socket) => sockets.push(socket));
  const config = new KubeConfig();
  const url = `https://127.0.0.1:${await listen(server, 0, '127.0.0.1')}`;
  config.loadFromClusterAndUser({ name: 'one', server: url, skipTLSVerify: true }, { name: 'one' });
  const api = new KubeApi(new KubeConnection(() => config));
  onTestFinished(() => {
    api.close();
    server.close();
    server.closeAllConnections();
  });

  const send = async (request: Partial<ApiRequest> = {}) =>
    await api.json({ path: '/api', signal: AbortSignal.timeout(20_000), ...request });
  const sendInParallel = async (count: number, request?: Partial<ApiRequest>) =>
    await Promise.all(Array.from({ length: count }, async () => await send(request)));
  const countOpen = () => sockets.filter(({ closed }) => !closed).length;
  return { send, sendInParallel, sockets, countOpen };
}

const answerLater: RequestListener = (_request, response) => {
  setTimeout(() => response.end('{}'), 50);
};

test('sends a GET again on a new connection after 1 s of silence, and closes the idle ones', async () => {
  const silent = new Set<Socket>();
  const { send, sendInParallel, sockets, countOpen } = await startServer((request, response) => {
    if (!silent.has(request.socket)) answerLater(request, response);
  });
  await sendInParallel(3);
  for (const socket of sockets) silent.add(socket);

  await send();

  expect(sockets).toHaveLength(4);
  await expect.poll(countOpen).toBe(1);
});

test('sends a GET again if a new connection is silent', async () => {
  const { send, sockets } = await startServer(({ socket }, response) => {
    if (socket !== sockets[0]) response.end('{}');
  });
  expect(await send()).toEqual({});
  expect(sockets).toHaveLength(2);
});

test('returns the first response of a slow server to two GETs, and ends the other one', async () => {
  const { send, sockets, countOpen } = await startServer((_request, response) => {
    setTimeout(() => response.end(String(sockets.length)), 1_500);
  });
  const startedAt = performance.now();
  expect(await send()).toBe(2);
  expect(performance.now() - startedAt).toBeLessThan(2_400);
  await expect.poll(countOpen).toBe(1);
});

test('reads a response that takes longer than 1 s after its start', async () => {
  const { send, sockets } = await startServer((_request, response) => {
    response.write('{');
    setTimeout(() => response.end('}'), 1_500);
  });
  expect(await send()).toEqual({});
  expect(sockets).toHaveLength(1);
});

test('keeps the idle connections if the signal of a GET aborts', async () => {
  let isSilent = false;
  const { send, sendInParallel, sockets, countOpen } = await startServer((request, response) => {
    if (!isSilent) answerLater(request, response);
  });
  await sendInParallel(3);
  isSilent = true;
  await expect(send({ signal: AbortSignal.timeout(200) })).rejects.toMatchObject({ name: 'TimeoutError' });
  await expect.poll(countOpen).toBe(2);
  expect(sockets).toHaveLength(3);
});

test('sends a POST only once', async () => {
  const methods: (string | undefined)[] = [];
  const { send } = await startServer(({ method }) => void methods.push(method));
  const post = send({ method: 'POST', signal: AbortSignal.timeout(1_500) });
  await expect(post).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(methods).toEqual(['POST']);
});

test('opens at most 32 connections, and keeps 4 of them after 5 s', async () => {
  const { sendInParallel, sockets, countOpen } = await startServer(answerLater);
  // On a busy machine, a GET may be sent again.
  await sendInParallel(100, { method: 'POST' });
  await sendInParallel(100, { method: 'POST' });
  expect(sockets).toHaveLength(32);
  await expect.poll(countOpen).toBe(4);
});

test('gives a watch a connection of its own', async () => {
  const responses: ServerResponse[] = [];
  const { send, sendInParallel, sockets } = await startServer((_request, response) =>
    responses.push(response),
  );
  const others = sendInParallel(32, { method: 'POST' });
  await expect.poll(() => responses.length).toBe(32);
  const watch = send({ isWatch: true });
  await expect.poll(() => responses.length).toBe(33);
  for (const response of responses) response.end('{}');
  await Promise.all([others, watch]);
  expect(sockets).toHaveLength(33);
});

test('rejects a request whose signal aborts before it gets a connection', async () => {
  const { send, sockets, countOpen } = await startServer(() => {});
  const hanging = Array.from({ length: 32 }, async () => await send({ method: 'POST' }));
  await expect.poll(() => sockets.length).toBe(32);
  const waiting = send({ signal: AbortSignal.timeout(100) });
  await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(countOpen()).toBe(32);
  for (const socket of sockets) socket.destroy();
  await Promise.allSettled(hanging);
});
