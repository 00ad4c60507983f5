import { EventEmitter } from 'node:events';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { paceHandshakes } from '../../src/webhook/handshake-pacer.ts';
import { startTestServer } from './test-server.ts';

test('starts eight handshakes in a turn of the event loop, in order, and skips closed connections', async () => {
  const server = new EventEmitter();
  const started: Socket[] = [];
  server.on('connection', (socket: Socket) => started.push(socket));
  const sockets = Array.from({ length: 20 }, () => new Socket());
  paceHandshakes(server, (socket) => {
    if (socket === sockets[0]) socket.destroy();
  });
  for (const socket of sockets) server.emit('connection', socket);
  const counts: number[] = [];
  while (counts.at(-1) !== 19 && counts.length < 10) {
    counts.push(started.length);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  expect(counts).toEqual([0, 7, 15, 19]);
  expect(started).toEqual(sockets.slice(1));
});

test('a server answers 100 connections that arrive at once', async () => {
  const { createClient } = await startTestServer();
  const answers = await Promise.all(Array.from({ length: 100 }, async () => await createClient()()));
  expect(answers.filter(({ body }) => body === 'ok')).toHaveLength(100);
});
