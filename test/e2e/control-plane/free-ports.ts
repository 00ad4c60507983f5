import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** The workers of each of two Vitest processes: one runs the tests with nodes, the other one the rest. */
export const WORKERS = 2;
/** Set in the process with nodes, because both processes number their workers from 1. */
export const NODES_PROCESS_VARIABLE = 'MCG_E2E_NODES_PROCESS';

/** Below Linux's ephemeral ports: otherwise a connection could take the port of a server while it restarts. */
const FIRST = 20_000;
const WORKER_COUNT = 2 * WORKERS;
const PORTS_PER_WORKER = 3_000;

let last = randomInt(PORTS_PER_WORKER);

/**
 * Ports of 127.0.0.1 without a listener. A process gets each port only once, and each Vitest worker has ports
 * of its own, so that two workers never find the same port.
 */
export async function freePorts(count: number): Promise<number[]> {
  const { [NODES_PROCESS_VARIABLE]: isNodesProcess, VITEST_POOL_ID: worker } = process.env;
  const offset = (Number(worker ?? 0) + (isNodesProcess === undefined ? 0 : WORKERS)) % WORKER_COUNT;
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
