import { randomBytes } from 'node:crypto';
import { connect as connectTcp, type Socket } from 'node:net';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { SteadyDeletes } from '../support/steady-deletes.ts';
import { meaning } from './answers.ts';
import { AttackedGuard, MEMORY_MAX, START_MS, UNHARMED } from './attacked-guard.ts';

const CLIENTS = 500;
/** Between two bytes of a slow client. */
const DRIP_MS = 500;
/** How long the guard has patience with anyone, and time for a busy machine. */
const PATIENCE_MS = 60_000;
/** Few enough that they are still being served while five hundred others are. */
const DELETES = 40;
/** The beginning of a ClientHello that announces 508 bytes more (RFC 8446, section 4.1.2). */
const CLIENT_HELLO = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]);

let guard: AttackedGuard;

beforeAll(async () => {
  guard = await AttackedGuard.start();
}, START_MS);
afterAll(() => guard.stop());

/** A connection without TLS, to be used for whatever comes. */
async function tcp(): Promise<Socket> {
  const socket = connectTcp(guard.port, '127.0.0.1');
  await new Promise<void>((resolve, reject) => socket.once('error', reject).once('connect', resolve));
  return socket.on('error', () => undefined);
}

/** Who sends these bytes one at a time, and begins again when they are over. */
interface SlowClient {
  readonly socket: Socket;
  readonly drips: Buffer;
}

const slowHandshake = async (): Promise<SlowClient> => ({
  socket: await tcp(),
  drips: Buffer.concat([CLIENT_HELLO, randomBytes(100)]),
});

const slowHeaders = async (): Promise<SlowClient> => ({
  socket: await guard.connect(),
  drips: Buffer.from('POST /validate?timeout=30s HTTP/1.1\r\nX-Slow: '.padEnd(200, 'x')),
});

/** Announces a body as large as that of a real config. */
async function slowBody(): Promise<SlowClient> {
  const socket = await guard.connect();
  const head = ['Content-Type: application/json', 'Content-Length: 1000000'];
  socket.write(guard.request('', { head, target: '/validate?timeout=30s' }));
  return { socket, drips: Buffer.from(JSON.stringify(guard.review())) };
}

/** Sends a quarter of a megabyte at once, and then no more than the others. */
async function stalledBody(): Promise<SlowClient> {
  const client = await slowBody();
  client.socket.write(`{"padding":"${'x'.repeat(256 * 1024)}`);
  return client;
}

describe.each([
  ['TLS handshakes', slowHandshake],
  ['headers', slowHeaders],
  ['bodies', slowBody],
  ['bodies that have begun fast', stalledBody],
] as const)(`${CLIENTS} clients whose %s come one byte at a time`, (_title, connectSlowly) => {
  test('do not keep reviews from being answered, and are cut off', { timeout: 5 * PATIENCE_MS }, async () => {
    const large = await guard.cluster.config({ bytes: 700_000 });
    await guard.cluster.node({ desiredConfig: large });
    const clients: SlowClient[] = [];
    for (let index = 0; index < CLIENTS; index += 1) clients.push(await connectSlowly());
    let closed = 0;
    for (const { socket } of clients) {
      // What is not read is never seen to end.
      socket.resume().once('close', () => {
        closed += 1;
      });
    }
    let sent = 0;
    const drip = setInterval(() => {
      for (const { socket, drips } of clients)
        if (socket.writable) socket.write(drips.subarray(sent % drips.length).subarray(0, 1));
      sent += 1;
    }, DRIP_MS);
    try {
      const deletes = SteadyDeletes.start(guard.cluster);
      await deletes.more(DELETES);
      const refused = await guard.cluster.delete(large);
      expect(refused.status).toBe(403);
      expect((await guard.answers(guard.request())).map(meaning)).toEqual(['MCG_IN_USE']);
      await deletes.stop();
      expect(deletes.faults).toEqual([]);
      await expect
        .poll(() => closed + clients.filter(({ socket }) => socket.destroyed).length, { timeout: PATIENCE_MS })
        .toBeGreaterThanOrEqual(CLIENTS);
      // Nothing of them is left that a large body would have to wait for.
      expect((await guard.cluster.delete(large)).status).toBe(403);
    } finally {
      clearInterval(drip);
      for (const { socket } of clients) socket.destroy();
    }
    expect(await guard.state()).toEqual(UNHARMED);
  });
});

/** Everything that the guard sends until it closes the connection. */
async function said(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await new Promise((resolve) => socket.once('close', resolve));
  return Buffer.concat(chunks).toString('latin1');
}

async function saidTo(bytes: Buffer | string): Promise<string> {
  const socket = await tcp();
  const answer = said(socket);
  socket.write(bytes);
  return await answer;
}

/** Any TLS alert (RFC 8446, section 6), or no word. */
// oxlint-disable-next-line no-control-regex -- bytes of a record are what is looked for
const ALERT_OR_NOTHING = /^(?:\u0015\u0003[\u0001-\u0004][^]*)?$/;

describe('what is no TLS', () => {
  test('plain HTTP is told so', async () => {
    expect(await saidTo('POST /validate HTTP/1.1\r\nHost: x\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 [^]*speaks HTTPS/);
  });

  test.each([
    ['SSL 2', Buffer.from('802b0100020012000000100100800700c0030080060040020080040080' + '00'.repeat(16), 'hex')],
    [
      'a record longer than any may be',
      Buffer.concat([Buffer.from([0x16, 0x03, 0x03, 0xff, 0xff]), randomBytes(70_000)]),
    ],
    ['a handshake of random bytes', Buffer.concat([CLIENT_HELLO, randomBytes(508)])],
    ['an alert', Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28])],
    ['data before the handshake', Buffer.from([0x17, 0x03, 0x03, 0x00, 0x02, 0x41, 0x41])],
    ['a heartbeat', Buffer.from([0x18, 0x03, 0x02, 0x00, 0x03, 0x01, 0x40, 0x00])],
  ])('%s is closed', async (_title, bytes) => {
    const answer = await saidTo(bytes);
    // Only a handshake looks like TLS from its first byte; whoever begins otherwise is taken for a person with plain HTTP.
    expect(answer).toMatch(bytes[0] === 0x16 ? ALERT_OR_NOTHING : /^HTTP\/1\.1 400 /);
  });
});

describe('TLS', () => {
  test.each(['TLSv1', 'TLSv1.1'] as const)('%s is refused', async (version) => {
    const old = { minVersion: version, maxVersion: version, ciphers: 'DEFAULT@SECLEVEL=0' };
    await expect(guard.connect(old)).rejects.toThrow(/alert|protocol version|ECONNRESET/i);
  });

  test('a client that speaks HTTP/2 only is refused', async () => {
    await expect(guard.connect({ ALPNProtocols: ['h2'] })).rejects.toThrow(/no application protocol|ECONNRESET/i);
  });

  test('a client that asks for another handshake is refused', async () => {
    const socket = await guard.connect({ maxVersion: 'TLSv1.2' });
    const outcome = await new Promise<string>((resolve) => {
      socket.once('error', (error) => resolve(error.message));
      socket.renegotiate({ rejectUnauthorized: false }, (error) => resolve(error === null ? 'done' : error.message));
    });
    expect(outcome).toMatch(/renegotiation|alert/i);
  });
});

describe('connections that are broken off', () => {
  test('in the middle of the handshake, by a reset', async () => {
    for (let length = 0; length < CLIENT_HELLO.length * 10; length += 1) {
      const socket = await tcp();
      socket.write(Buffer.concat([CLIENT_HELLO, randomBytes(100)]).subarray(0, length));
      socket.resetAndDestroy();
    }
    expect((await guard.answers(guard.request())).map(meaning)).toEqual(['MCG_IN_USE']);
  });

  test('in the middle of the request', async () => {
    const whole = guard.request();
    for (let index = 1; index < 50; index += 1) {
      const socket = await guard.connect();
      socket.write(whole.subarray(0, Math.floor((whole.length * index) / 50)));
      socket.destroy();
    }
    expect((await guard.answers(guard.request())).map(meaning)).toEqual(['MCG_IN_USE']);
  });

  test('before the answer', async () => {
    for (let index = 0; index < 50; index += 1) {
      const socket = await guard.connect();
      socket.write(guard.request());
      socket.destroy();
    }
    expect((await guard.answers(guard.request())).map(meaning)).toEqual(['MCG_IN_USE']);
  });

  test(
    'as fast as they can be made: 1,000 handshakes, while deletions go on',
    { timeout: 3 * PATIENCE_MS },
    async () => {
      const deletes = SteadyDeletes.start(guard.cluster);
      const attacker = async (): Promise<void> => {
        for (let index = 0; index < 50; index += 1) (await guard.connect()).destroy();
      };
      await Promise.all([...Array.from({ length: 20 }, attacker), deletes.more(DELETES)]);
      await deletes.stop();
      expect(deletes.faults).toEqual([]);
    },
  );
});

test('and nothing has happened to the guard', async () => {
  expect(await guard.state()).toEqual(UNHARMED);
  expect(await guard.peakMemory()).toBeLessThan(MEMORY_MAX);
});
