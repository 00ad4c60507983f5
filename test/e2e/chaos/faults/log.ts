import { readlinkSync } from 'node:fs';
import { join } from 'node:path';

import { LogPipe } from '../../../support/log-pipe.ts';
import type { GuardProcess } from '../../support/guard-process.ts';
import type { Fault } from '../fault.ts';

const SEEN = 'no new lines; see [the audit log](audit.md)';

function requireStdout(file: string, { pid }: GuardProcess): void {
  const stdout = readlinkSync(`/proc/${pid}/fd/1`);
  if (stdout !== file) throw new Error(`The guard writes its log to ${stdout}.`);
}

const logFull: Fault = {
  name: 'log-full',
  title: 'The disk for the log is full',
  seen: SEEN,
  // Writes to /dev/full fail with ENOSPC.
  launch: async () => ({ script: 'exec "$@" >/dev/full' }),
  durationMs: 4_000,
  inject: ({ guard }) => {
    requireStdout('/dev/full', guard);
    return () => undefined;
  },
};

/** Exists from the launch of the guard on. */
let pipe: LogPipe | undefined;

const logNotRead: Fault = {
  name: 'log-not-read',
  title: 'The reader of the log hangs',
  seen: SEEN,
  launch: async (directory) => {
    pipe = new LogPipe(join(directory, 'log-pipe'));
    return { script: `exec "$@" >'${pipe.file}'` };
  },
  durationMs: 4_000,
  inject: ({ guard }) => {
    if (pipe === undefined) throw new Error('The guard was not started with a pipe.');
    requireStdout(pipe.file, guard);
    pipe.fill();
    return () => void pipe?.read();
  },
};

export const LOG_FAULTS = [logFull, logNotRead];
