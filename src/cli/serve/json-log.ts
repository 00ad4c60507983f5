import { constants, fstatSync, openSync } from 'node:fs';
import { pino, type Logger } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** Limits the buffer while the disk is full. */
const MAX_PENDING_BYTES = 1024 * 1024;

/** Writes synchronously, so a crash loses no line. Drops lines if the disk is full or the pipe closed or not read. */
export function createJsonLog(level: string, fd = 1): Logger {
  const destination = pino.destination({
    dest: openNonBlocking(fd),
    sync: true,
    maxLength: MAX_PENDING_BYTES,
    // Otherwise pino would sleep until the pipe is read. The next line retries.
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
 * A log collector that hangs would block the guard when the pipe is full. Other processes can share the open file, so
 * the pipe is opened again to set O_NONBLOCK.
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
