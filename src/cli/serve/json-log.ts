import { constants, fstatSync, openSync } from 'node:fs';
import { pino, type Logger } from 'pino';

/** The values of `--log-level`. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** Lines that cannot be written yet are kept up to this size. Otherwise a full disk would fill the memory, too. */
const MAX_PENDING_BYTES = 1024 * 1024;

/**
 * Creates a JSON log on a file descriptor. It is synchronous, so that a crash loses no line. A log that cannot be
 * written, because the disk is full or the pipe is closed or not read, loses lines, and the guard continues.
 */
export function createJsonLog(level: string, fd = 1): Logger {
  const destination = pino.destination({
    dest: openNonBlocking(fd),
    sync: true,
    maxLength: MAX_PENDING_BYTES,
    // Otherwise pino would sleep until the pipe is read. The next line tries again.
    retryEAGAIN: () => false,
  });
  destination.on('error', () => {
    // There is no other place to report it.
  });
  return pino(
    {
      level,
      base: null,
      // Kubernetes' log collectors expect names instead of pino's numbers.
      formatters: { level: (label) => ({ level: label }) },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
    },
    destination,
  );
}

/**
 * A full pipe blocks its writer, so a log collector that hangs would block the guard. O_NONBLOCK belongs to the open
 * file, which other processes can share. Therefore the pipe is opened again.
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
