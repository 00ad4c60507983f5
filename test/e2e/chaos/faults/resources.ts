import { setMaxListeners } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';

import { pause } from '../../control-plane/until.ts';
import type { GuardProcess } from '../../support/guard-process.ts';
import type { Fault } from '../support/fault.ts';

/** Of each tenth of a second, as a CPU quota of a tenth of a core gives it (kernel, sched-bwc). */
const RUNS_MS = 10;
const STANDS_MS = 90;

async function ration(guard: GuardProcess, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    guard.signal('SIGCONT');
    await pause(RUNS_MS);
    guard.signal('SIGSTOP');
    await pause(STANDS_MS);
  }
  guard.signal('SIGCONT');
}

export const cpuStarved: Fault = {
  name: 'cpu-starved',
  title: 'The guard gets a tenth of one core',
  seen: '[`mcguard_decision_duration_seconds`](metrics.md) rises',
  answers: { used: ['in use', 'unverified', 'guard not reached'], free: ['let go', 'unverified', 'guard not reached'] },
  lastsMs: 6_000,
  begin: ({ guard }) => {
    const ending = new AbortController();
    const rationed = ration(guard, ending.signal);
    return () => {
      ending.abort();
      return rationed;
    };
  },
};

/** About twice as many as the guard has open when nothing is the matter. */
const DESCRIPTORS = 64;
const CONNECTIONS = 2 * DESCRIPTORS;
const RECONNECT_MS = 200;

/** Keeps a connection open that says nothing, or tries to. */
async function occupy(port: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const socket = connect({ port, host: '127.0.0.1', signal }).on('error', () => undefined);
    await new Promise((resolve) => socket.once('close', resolve));
    await pause(RECONNECT_MS);
  }
}

export const descriptorsExhausted: Fault = {
  name: 'no-descriptors',
  title: 'The guard has no file descriptor left',
  seen: '`failed calling webhook` now and then; restarts of the pod by its liveness probe',
  launch: async () => ({ through: `ulimit -n ${DESCRIPTORS}; exec "$@"` }),
  answers: { used: ['in use', 'unverified', 'guard not reached'], free: ['let go', 'unverified', 'guard not reached'] },
  lastsMs: 6_000,
  begin: ({ guard }) => {
    const port = Number(new URL(guard.url).port);
    const ending = new AbortController();
    // As many as it likes: they are not a leak.
    setMaxListeners(0, ending.signal);
    const occupied = Array.from({ length: CONNECTIONS }, () => occupy(port, ending.signal));
    return async () => {
      const open = readdirSync(`/proc/${guard.pid}/fd`).length;
      ending.abort();
      await Promise.all(occupied);
      if (open < DESCRIPTORS - 2) throw new Error(`The guard had only ${open} of ${DESCRIPTORS} descriptors open.`);
    };
  },
};
