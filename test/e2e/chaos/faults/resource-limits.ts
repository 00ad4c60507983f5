import { setMaxListeners } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';

import { pause } from '../../control-plane/until.ts';
import type { GuardProcess } from '../../support/guard-process.ts';
import type { Fault } from '../fault.ts';

/** In each 100 ms, as a CPU quota of a tenth of a core does (kernel, sched-bwc). */
const RUNNING_MS = 10;
const STOPPED_MS = 90;

async function limitCpu(guard: GuardProcess, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    guard.signal('SIGCONT');
    await pause(RUNNING_MS);
    guard.signal('SIGSTOP');
    await pause(STOPPED_MS);
  }
  guard.signal('SIGCONT');
}

export const cpuLimited: Fault = {
  name: 'cpu-starved',
  title: 'The guard gets a tenth of a core',
  seen: '[`mcguard_decision_duration_seconds`](metrics.md) rises',
  durationMs: 6_000,
  inject: ({ guard }) => {
    const stop = new AbortController();
    const limited = limitCpu(guard, stop.signal);
    return () => {
      stop.abort();
      return limited;
    };
  },
};

/** About twice as many as the guard usually has open. */
const DESCRIPTORS = 64;
const CONNECTIONS = 2 * DESCRIPTORS;
const RECONNECT_MS = 200;

/** Keeps one idle connection open, or tries to. */
async function occupyDescriptor(port: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const socket = connect({ port, host: '127.0.0.1', signal }).on('error', () => undefined);
    await new Promise((resolve) => socket.once('close', resolve));
    await pause(RECONNECT_MS);
  }
}

export const descriptorsExhausted: Fault = {
  name: 'no-descriptors',
  title: 'The guard has no file descriptors left',
  seen: 'sometimes `failed calling webhook`; restarts by the liveness probe',
  launch: async () => ({ script: `ulimit -n ${DESCRIPTORS}; exec "$@"` }),
  durationMs: 6_000,
  inject: ({ guard }) => {
    const port = Number(new URL(guard.url).port);
    const stop = new AbortController();
    // Each connection listens to the signal.
    setMaxListeners(0, stop.signal);
    const connections = Array.from({ length: CONNECTIONS }, () => occupyDescriptor(port, stop.signal));
    return async () => {
      const open = readdirSync(`/proc/${guard.pid}/fd`).length;
      stop.abort();
      await Promise.all(connections);
      if (open < DESCRIPTORS - 2) throw new Error(`The guard had only ${open} of ${DESCRIPTORS} descriptors open.`);
    };
  },
};
