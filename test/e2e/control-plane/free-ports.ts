import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** How many test files run at a time. */
export const WORKERS = 2;

/** Below what Linux gives to connections and to those that ask for any port, which would take a port while its server restarts. */
const FIRST = 20_000;
const COUNT = 10_000;

let tried = randomInt(COUNT / WORKERS);

/**
 * Ports of 127.0.0.1 that nobody listens on now. A process is given each but once, and of Vitest's workers each has its own, so that none
 * takes what another one has found and not yet used.
 */
export async function freePorts(count: number): Promise<number[]> {
  const worker = Number(process.env['VITEST_POOL_ID'] ?? 0) % WORKERS;
  const ports: number[] = [];
  while (ports.length < count) {
    tried = (tried + 1) % (COUNT / WORKERS);
    const port = FIRST + tried * WORKERS + worker;
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

async function isFree(port: number): Promise<boolean> {
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
