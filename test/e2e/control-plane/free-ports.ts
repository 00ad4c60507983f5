import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** How many test files run at a time at most. */
export const WORKERS = 2;

/** Below the ports that Linux assigns by itself, perhaps that of a server which restarts. */
const FIRST = 20_000;
const COUNT_PER_WORKER = 5_000;

let last = randomInt(COUNT_PER_WORKER);

/**
 * Ports of 127.0.0.1 without a listener. A process gets each port only once, and each Vitest worker has ports
 * of its own, so that two workers never find the same port.
 */
export async function freePorts(count: number): Promise<number[]> {
  const worker = Number(process.env['VITEST_POOL_ID'] ?? 0) % WORKERS;
  const ports: number[] = [];
  while (ports.length < count) {
    last = (last + 1) % COUNT_PER_WORKER;
    const port = FIRST + last * WORKERS + worker;
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

async function isFree(port: number) {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
  await once(server.close(), 'close');
  return true;
}
