import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import type { Purpose } from '../../src/kube/transport.ts';
import { startApi } from './test-api-server.ts';

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

/** Requests that are sent only once, also on a busy machine. */
const POST = { method: 'POST' } as const;

test('sends a GET again on a new connection after 1 s of silence, and closes the idle ones', async () => {
  const silent = new Set<Socket>();
  const answer = answerTogether(3);
  const { send, sendInParallel, sockets } = await startApi((request, response) => {
    if (!silent.has(request.socket)) answer(request, response);
  });
  await sendInParallel(3, POST);
  for (const socket of sockets) silent.add(socket);
  await send();
  expect(sockets).toHaveLength(4);
  await expect.poll(() => [...silent].every(({ closed }) => closed)).toBe(true);
});

test.each([
  ['first', 1],
  ['second', 0],
])(
  'sends a GET again if a new connection is silent, returns its %s response, and ends the other',
  async (_case, other) => {
    const responses: ServerResponse[] = [];
    const { send } = await startApi((_request, response) => {
      // The other one never gets a response.
      if (responses.push(response) === 2) responses[1 - other]?.end('"one"');
    });
    expect(await send()).toBe('one');
    await expect.poll(() => responses[other]?.closed).toBe(true);
  },
);

test.each([
  ['a GET whose response has started', {}, (response: ServerResponse) => response.write('{'), '}'],
  ['a POST', POST, () => {}, '{}'],
])('sends %s only once, although it takes longer than 1 s', async (_case, request, start, end) => {
  const responses: ServerResponse[] = [];
  let repetitions = 0;
  const { send } = await startApi(({ url }, response) => {
    if (url !== '/silent') {
      responses.push(response);
      start(response);
    } else if ((repetitions += 1) > 1) {
      // This GET has arrived again, so more than 1 s has passed.
      responses[0]?.end(end);
      response.end('{}');
    }
  });
  const slow = send(request);
  await expect.poll(() => responses.length).toBe(1);
  await send({ path: '/silent' });
  expect(await slow).toEqual({});
  expect(responses).toHaveLength(1);
});

test('keeps the idle connections if the signal of a GET aborts', async () => {
  const abort = new AbortController();
  const answer = answerTogether(3);
  const { send, sendInParallel, sockets, countOpen } = await startApi((request, response) => {
    if (request.method === 'GET') abort.abort();
    else answer(request, response);
  });
  await sendInParallel(3, POST);
  const openAfterClose = Promise.race(sockets.map(async (socket) => await once(socket, 'close').then(countOpen)));
  await expect(send({ signal: abort.signal })).rejects.toMatchObject({ name: 'AbortError' });
  expect(await openAfterClose).toBe(2);
  expect(sockets).toHaveLength(3);
});

test.each<[number, Purpose | undefined]>([
  [32, undefined],
  [8, 'lists'],
  [8, 'lookUps'],
  [2, 'nodeLists'],
  [4, 'tokenReviews'],
  [4, 'events'],
])('opens at most %i connections for %s, and closes them after 5 s without a request', async (count, purpose) => {
  const { sendInParallel, sockets, countOpen } = await startApi(answerTogether(count));
  await sendInParallel(100, { ...POST, ...(purpose === undefined ? {} : { purpose }) });
  expect(sockets).toHaveLength(count);
  await expect.poll(countOpen).toBe(0);
});

test('does not send a list of nodes again after 1 s of silence, but closes the idle connections', async () => {
  const lists: ServerResponse[] = [];
  const { send, sendInParallel, sockets } = await startApi(({ url }, response) => {
    if (url === '/nodes') lists.push(response);
    else response.end('{}');
  });
  await sendInParallel(2);
  const list = send({ path: '/nodes', purpose: 'nodeLists' });
  await expect.poll(() => sockets.map(({ closed }) => closed)).toEqual([true, true, false]);
  // It would have been sent by the same turn of the event loop.
  await send();
  expect(lists).toHaveLength(1);
  lists[0]?.end('[]');
  expect(await list).toEqual([]);
});

test('does not send a GET again if its connection breaks after the response has started', async () => {
  let count = 0;
  const { send } = await startApi((_request, response) => {
    count += 1;
    if (count === 1) response.end('{}');
    else response.write('{', () => response.destroy());
  });
  await send();
  await expect(send()).rejects.toThrow(/^the response is incomplete/);
  expect(count).toBe(2);
});

test('gives watches and lists own connections, and rejects a waiting request if its signal aborts', async () => {
  const responses: ServerResponse[] = [];
  const { send, sendInParallel, sockets } = await startApi((_request, response) => responses.push(response));
  const others = sendInParallel(32, POST);
  await expect.poll(() => responses.length).toBe(32);
  const own = (['watches', 'nodeLists'] as const).map((purpose) => send({ purpose }));
  await expect.poll(() => responses.length).toBe(34);
  const abort = new AbortController();
  const waiting = send({ signal: abort.signal });
  abort.abort();
  await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  for (const response of responses) response.end('{}');
  await Promise.all([others, ...own]);
  expect(sockets).toHaveLength(34);
});
