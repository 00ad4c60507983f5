import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** The workers of each of three Vitest processes: for nodes, the cluster of the real operator, and all other tests. */
export const WORKERS = 2;
/** The number of a process, because each numbers its workers from 1. */
export const PROCESS_VARIABLE = 'MCG_E2E_PROCESS';

/** Below Linux's ephemeral ports: otherwise a connection could take the port of a server while it restarts. */
const FIRST = 20_000;
const WORKER_COUNT = 3 * WORKERS;
const PORTS_PER_WORKER = 2_000;

let last = randomInt(PORTS_PER_WORKER);

/**
 * Ports of 127.0.0.1 without a listener. A process gets each port only once, and each Vitest worker has ports
 * of its own, so that two workers never find the same port.
 */
export async function freePorts(count: number): Promise<number[]> {
  const { [PROCESS_VARIABLE]: processNumber = 0, VITEST_POOL_ID: worker = 0 } = process.env;
  const offset = (Number(worker) + Number(processNumber) * WORKERS) % WORKER_COUNT;
  const ports: number[] = [];
  while (ports.length < count) {
    last = (last + 1) % PORTS_PER_WORKER;
    const port = FIRST + last * WORKER_COUNT + offset;
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
