import { constants, fstatSync, openSync } from 'node:fs';
import { pino, type Logger } from 'pino';

/** Levels of `--log-level`. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** What cannot be written now is kept for later up to here, in bytes: some thousand lines. Without a limit a full disk would fill the memory too. */
const KEPT_MAX = 1024 * 1024;

/**
 * The JSON log on stdout, or another file descriptor. Written synchronously, so that a crash loses no line. A log that
 * cannot be written (disk full, pipe closed, nobody who reads) must not stop the guard: what does not fit into {@link KEPT_MAX} is lost, and
 * the deletion still answered.
 */
export function createJsonLog(level: string, fd = 1): Logger {
  const destination = pino.destination({
    dest: withoutWaiting(fd),
    sync: true,
    maxLength: KEPT_MAX,
    // It would sleep until the reader of the pipe goes on. Tried again with the next line instead.
    retryEAGAIN: () => false,
  });
  destination.on('error', () => {
    // There is nowhere to say so.
  });
  return pino(
    {
      level,
      base: null,
      // The names that log collectors of Kubernetes expect, rather than pino's numbers.
      formatters: { level: (label) => ({ level: label }) },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
    },
    destination,
  );
}

/**
 * A pipe that is full blocks whoever writes to it until somebody reads: one log collector that stands still would stop the whole guard. The
 * flag against that belongs to the open file, which others may share, so the pipe is opened once more.
 */
function withoutWaiting(fd: number): number {
  try {
    if (!fstatSync(fd).isFIFO()) return fd;
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // Not Linux, or a pipe of another user.
    return fd;
  }
}
