import { constants, fstatSync, openSync } from 'node:fs';
import { pino, type Logger } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** Limits the buffer while the disk is full. */
const MAX_PENDING_BYTES = 1024 * 1024;

/** Writes synchronously, so a crash loses no line. Drops lines if the disk or pipe is full, or the pipe closed. */
export function createJsonLog(level: string, fd = 1): Logger {
  const destination = pino.destination({
    dest: openNonBlocking(fd),
    sync: true,
    maxLength: MAX_PENDING_BYTES,
    // Otherwise pino would sleep until the pipe is read. pino retries at the next log line.
    retryEAGAIN: () => false,
  });
  destination.on('error', () => {
    // The log is the only place to report it.
  });
  return pino(
    {
      level,
      base: null,
      // Log collectors expect names instead of pino's numbers.
      formatters: { level: (label) => ({ level: label }) },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
    },
    destination,
  );
}

/**
 * A full pipe would block the guard. The function opens the pipe again, because O_NONBLOCK would affect other
 * processes that share the open file.
 */
function openNonBlocking(fd: number): number {
  try {
    if (!fstatSync(fd).isFIFO()) return fd;
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // Not Linux, or a pipe of another user.
    return fd;
  }
}
