import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';

import { afterAll, expect, test } from 'vitest';

import { probeDuring } from '../support/prober.ts';
import { sharedGuardedCluster } from '../support/shared-clusters.ts';
import { Attacker, findDamage } from './attacker.ts';

const CLIENTS = 500;
const BYTE_INTERVAL_MS = 500;
/** The time limits of the guard, and time for a busy machine. */
const CUT_OFF_MS = 60_000;
/** The start of a ClientHello that announces 508 more bytes (RFC 8446, section 4.1.2). */
const CLIENT_HELLO = Buffer.from('1603010200010001fc0303', 'hex');

const guarded = await sharedGuardedCluster();
const attacker = await Attacker.create(guarded);

afterAll(async () => {
  expect(await findDamage(guarded)).toEqual([]);
});

/** A connection, and the bytes that it sends one by one. */
type SlowClient = readonly [socket: Socket, bytes: Buffer];

async function startSlowBody(firstBytes = ''): Promise<SlowClient> {
  const socket = await attacker.connect();
  const head = ['Content-Type: application/json', 'Content-Length: 1000000'];
  socket.write(attacker.request(firstBytes, { head, target: '/validate?timeout=30s' }));
  return [socket, Buffer.from(attacker.review())];
}

const SLOW_HEADER = Buffer.from('POST /validate HTTP/1.1\r\nX-Slow: '.padEnd(200, 'x'));
const SLOW_CLIENTS: readonly (() => Promise<SlowClient>)[] = [
  async () => [await attacker.connectTcp(), Buffer.concat([CLIENT_HELLO, randomBytes(100)])],
  async () => [await attacker.connect(), SLOW_HEADER],
  () => startSlowBody(),
  () => startSlowBody(`{"padding":"${'x'.repeat(256 * 1024)}`),
];

test(`${CLIENTS} slow clients delay no review, and are cut off`, async () => {
  const large = await attacker.cluster.config({ bytes: 700_000 });
  await attacker.cluster.node({ desiredConfig: large });
  const slowClients: SlowClient[] = [];
  for (let index = 0; index < CLIENTS; index += 1) {
    const start = SLOW_CLIENTS[index % SLOW_CLIENTS.length] ?? expect.fail('no client');
    slowClients.push(await start());
  }
  // An unread socket never reports its end.
  for (const [socket] of slowClients) socket.resume();
  let sent = 0;
  const timer = setInterval(() => {
    for (const [socket, bytes] of slowClients) if (socket.writable) socket.write(bytes.subarray(sent, sent + 1));
    sent += 1;
  }, BYTE_INTERVAL_MS);
  const countOpen = () => slowClients.filter(([socket]) => !socket.destroyed).length;
  try {
    const { faults } = await probeDuring(guarded.connection.admin, async () => {
      expect((await attacker.cluster.delete(large)).status).toBe(403);
      await expect.poll(countOpen, { timeout: CUT_OFF_MS }).toBe(0);
    });
    expect(faults).toEqual([]);
  } finally {
    clearInterval(timer);
    for (const [socket] of slowClients) socket.destroy();
  }
}, 300_000);

test('broken and rapid connections delay no review', async () => {
  const request = attacker.request();
  const reconnect = async () => {
    for (let index = 0; index < 50; index += 1) (await attacker.connect()).destroy();
  };

  const { faults } = await probeDuring(guarded.connection.admin, async (prober) => {
    for (let index = 1; index < 50; index += 1) {
      const handshake = await attacker.connectTcp();
      handshake.write(Buffer.concat([CLIENT_HELLO, randomBytes(50)]).subarray(0, index));
      handshake.resetAndDestroy();
      const partial = await attacker.connect();
      partial.write(request.subarray(0, Math.ceil((request.length * index) / 50)));
      partial.destroy();
    }
    await Promise.all(Array.from({ length: 5 }, reconnect));
    await prober.awaitMore(20);
  });

  expect(faults).toEqual([]);
}, 120_000);
