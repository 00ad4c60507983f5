import { readlinkSync } from 'node:fs';
import { join } from 'node:path';

import { LogPipe } from '../../../support/log-pipe.ts';
import type { GuardProcess } from '../../support/guard-process.ts';
import type { Fault } from '../support/fault.ts';

function requireLogTo(file: string, { pid }: GuardProcess): void {
  const stdout = readlinkSync(`/proc/${pid}/fd/1`);
  if (stdout !== file) throw new Error(`The guard writes its log to ${stdout}.`);
}

/** /dev/full says ENOSPC to every write. Whatever node itself has to say still goes to the log. */
const STDOUT_FULL = 'exec "$@" >/dev/full';

export const logFull: Fault = {
  name: 'log-full',
  title: 'No line of the log can be written: the disk is full',
  seen: 'no new lines; the answers are in [the audit log](audit.md)',
  launch: async () => ({ through: STDOUT_FULL }),
  answers: { used: ['in use'], free: ['let go'] },
  lastsMs: 4_000,
  // From its start on, and to its end.
  begin: ({ guard }) => {
    requireLogTo('/dev/full', guard);
    return () => undefined;
  },
};

/** Between its start and its end, of the fault below. */
let pipe: LogPipe | undefined;

export const logNotRead: Fault = {
  name: 'log-not-read',
  title: 'Nobody reads the log any more',
  seen: 'no new lines until it is read again; the answers are in [the audit log](audit.md)',
  launch: async (directory) => {
    pipe = new LogPipe(join(directory, 'log-pipe'));
    return { through: `exec "$@" >'${pipe.file}'` };
  },
  answers: { used: ['in use'], free: ['let go'] },
  lastsMs: 4_000,
  begin: ({ guard }) => {
    if (pipe === undefined) throw new Error('The guard was not started with a pipe.');
    const { file } = pipe;
    requireLogTo(file, guard);
    pipe.fill();
    return () => {
      pipe?.read();
    };
  },
};
