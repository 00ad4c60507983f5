import { Agent, request } from 'node:https';
import { connect as connectPlain, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect, type TLSSocket } from 'node:tls';
import express from 'express';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TlsServer } from '../../src/webhook/tls-server.ts';
import { memoryLog } from '../support/log.ts';
import { exchangeable, type TestTls, testTls } from '../support/tls.ts';

const MAX = 20;

let tls: TestTls;
let server: TlsServer;
let port: number;
let sockets: Socket[];
let agents: Agent[];

beforeEach(async () => {
  tls = await testTls();
  sockets = [];
  agents = [];
  const app = express();
  app.use((_request, response) => void response.send('ok'));
  const certificate = exchangeable(await tls.leaf());
  server = new TlsServer({ app, certificate, minVersion: 'TLSv1.2', log: memoryLog().log, maxConnections: MAX });
  port = await server.listen(0, '127.0.0.1');
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  for (const agent of agents) agent.destroy();
  await server.close();
});

/** A client with a connection of its own that it keeps. */
function client(): { call: () => Promise<{ body: string; reused: boolean }> } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: tls.ca });
  agents.push(agent);
  const call = async (): Promise<{ body: string; reused: boolean }> =>
    await new Promise((resolve, reject) => {
      const outgoing = request({ host: '127.0.0.1', port, agent }, (response) => {
        text(response).then((body) => {
          resolve({ body, reused: outgoing.reusedSocket });
        }, reject);
      });
      outgoing.on('error', reject);
      outgoing.end();
    });
  return { call };
}

/** Connects and says nothing, or after a handshake only the beginning of a request. Counts those that were cut off. */
async function silent(count: number, how: 'plain' | 'tls'): Promise<{ cutOff: () => number }> {
  let closed = 0;
  for (let index = 0; index < count; index += 1) {
    const socket: Socket | TLSSocket =
      how === 'plain' ? connectPlain(port, '127.0.0.1') : connect({ host: '127.0.0.1', port, ca: tls.ca });
    socket.on('error', () => {});
    socket.on('close', () => {
      closed += 1;
    });
    sockets.push(socket);
    await new Promise((resolve) => socket.once(how === 'plain' ? 'connect' : 'secureConnect', resolve));
    if (how === 'tls') socket.write('GET / HTTP/1.1\r\nX-Slow: ');
  }
  return { cutOff: () => closed };
}

test.each(['plain', 'tls'] as const)(
  'many that say nothing (%s) cut off each other, not a connection that was of use, and keep nobody out',
  async (how) => {
    const kept = client();
    await kept.call();
    const many = await silent(3 * MAX, how);
    expect(await kept.call()).toEqual({ body: 'ok', reused: true });
    // Long before anybody's patience with them is over.
    await expect.poll(many.cutOff, { timeout: 8_000 }).toBeGreaterThanOrEqual(2 * MAX);
    expect(await client().call()).toEqual({ body: 'ok', reused: false });
  },
);

test('many that were of use once and are kept for no reason do not keep others out; the last one in use stays', async () => {
  const kept = client();
  for (let index = 0; index < 3 * MAX; index += 1) {
    expect((await client().call()).body).toBe('ok');
    expect(await kept.call()).toEqual({ body: 'ok', reused: index > 0 });
  }
});

test('a handshake on an open connection is refused', async () => {
  const socket = connect({ host: '127.0.0.1', port, ca: tls.ca, maxVersion: 'TLSv1.2' });
  sockets.push(socket);
  await new Promise((resolve) => socket.once('secureConnect', resolve));
  const outcome = await new Promise<string>((resolve) => {
    socket.on('error', (error) => resolve(error.message));
    socket.renegotiate({ rejectUnauthorized: false }, (error) => resolve(error === null ? 'done' : error.message));
  });
  expect(outcome).toMatch(/no.renegotiation|handshake failure|alert/i);
  expect((await client().call()).body).toBe('ok');
});
