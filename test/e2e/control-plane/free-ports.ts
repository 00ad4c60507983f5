import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Below what Linux gives to connections and to those that ask for any port, which would take a port while its server restarts. */
const FIRST = 20_000;
const COUNT = 10_000;
/** Vitest's workers have every other port, so that none takes what another one has found and not yet used. */
const WORKERS = 2;

/** Ports of 127.0.0.1 that nobody listens on now; all are held until the last is found, so no two are the same. */
export async function freePorts(count: number): Promise<number[]> {
  const worker = Number(process.env['VITEST_POOL_ID'] ?? 0) % WORKERS;
  const held = new Map<number, Server>();
  while (held.size < count) {
    const port = FIRST + randomInt(COUNT / WORKERS) * WORKERS + worker;
    const server = createServer().listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
      held.set(port, server);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
  await Promise.all([...held.values()].map((server) => once(server.close(), 'close')));
  return [...held.keys()];
}
