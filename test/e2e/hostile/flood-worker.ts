import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { parentPort, workerData } from 'node:worker_threads';

/** Between two connections of a client, so that a closed port costs the attacker no processor. */
const RECONNECT_MS = 10;

interface Flood {
  readonly target: { readonly host: string; readonly port: number; readonly ca: string };
  readonly connections: number;
  /** What each connection sends. When the guard has closed it, it opens another one. */
  readonly bytes: Buffer;
  /** Whether it sends them again after each answer. */
  readonly repeats: boolean;
}

const { target, connections, bytes, repeats } = workerData as Flood;
let startedCount = 0;

/** Attacks over one connection until the guard closes it. */
async function attack(): Promise<void> {
  const socket = connect({ ...target }).on('error', () => undefined);
  const ended = new AbortController();
  const closed = once(socket, 'close').finally(() => ended.abort());
  await once(socket, 'secureConnect', { signal: ended.signal });
  startedCount += 1;
  if (startedCount === Math.ceil(connections / 10)) parentPort?.postMessage('started', []);
  // Without a reader the end of the connection stays unseen.
  socket.on('data', (chunk: Buffer) => {
    if (repeats && chunk.includes('HTTP/1.1')) socket.write(bytes);
  });
  socket.write(bytes);
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
