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
    await api.json({ path: '/api', signal: new AbortController().signal, ...request });
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
  // A POST is sent only once, also on a busy machine.
  await sendInParallel(3, { method: 'POST' });
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
  const responses: ServerResponse[] = [];
  const { send, countOpen } = await startServer((_request, response) => {
    // The other one never gets a response.
    if (responses.push(response) === 2) responses[0]?.end('"first"');
  });
  expect(await send()).toBe('first');
  await expect.poll(countOpen).toBe(1);
});

/** Answers a GET of /silent only when it arrives again, which proves that more than 1 s has passed. */
function answerRepetition(onRepetition: () => void): RequestListener {
  let count = 0;
  return (_request, response) => {
    count += 1;
    if (count < 2) return;
    onRepetition();
    response.end('{}');
  };
}

test('reads a response that takes longer than 1 s after its start', async () => {
  const responses: ServerResponse[] = [];
  const onSilent = answerRepetition(() => responses[0]?.end('}'));
  const { send } = await startServer((request, response) => {
    if (request.url === '/silent') onSilent(request, response);
    else if (responses.push(response) === 1) response.write('{');
  });
  const slow = send();
  await expect.poll(() => responses.length).toBe(1);
  await send({ path: '/silent' });
  expect(await slow).toEqual({});
  expect(responses).toHaveLength(1);
});

test('keeps the idle connections if the signal of a GET aborts', async () => {
  let isSilent = false;
  let onSilent = (): void => {};
  const { send, sendInParallel, sockets, countOpen } = await startServer((request, response) => {
    if (isSilent) onSilent();
    else answerLater(request, response);
  });
  await sendInParallel(3, { method: 'POST' });
  isSilent = true;
  const abort = new AbortController();
  onSilent = () => abort.abort();
  await expect(send({ signal: abort.signal })).rejects.toMatchObject({ name: 'AbortError' });
  await expect.poll(countOpen).toBe(2);
  expect(sockets).toHaveLength(3);
});

test('sends a POST only once', async () => {
  const posts: ServerResponse[] = [];
  const onSilent = answerRepetition(() => posts[0]?.end('{}'));
  const { send } = await startServer((request, response) => {
    if (request.url === '/silent') onSilent(request, response);
    else posts.push(response);
  });
  const post = send({ method: 'POST' });
  await expect.poll(() => posts.length).toBe(1);
  await send({ path: '/silent' });
  await post;
  expect(posts).toHaveLength(1);
});

test('opens at most 32 connections, and closes them after 5 s without a request', async () => {
  const { sendInParallel, sockets, countOpen } = await startServer(answerLater);
  // On a busy machine, a GET may be sent again.
  await sendInParallel(100, { method: 'POST' });
  await sendInParallel(100, { method: 'POST' });
  expect(sockets).toHaveLength(32);
  await expect.poll(countOpen).toBe(0);
});

test('gives a watch a connection of its own', async () => {
  const responses: ServerResponse[] = [];
  const { send, sendInParallel, sockets } = await startServer((_request, response) => responses.push(response));
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
  const abort = new AbortController();
  const waiting = send({ signal: abort.signal });
  abort.abort();
  await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  expect(countOpen()).toBe(32);
  for (const socket of sockets) socket.destroy();
  await Promise.allSettled(hanging);
});
