import { pino, type Logger } from 'pino';

/** Levels of `--log-level`. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/**
 * The JSON log on stdout, or another file descriptor. Written synchronously, so that a crash loses no line. A log that
 * cannot be written (disk full, pipe closed) must not stop the guard: the line is lost and the deletion still answered.
 */
export function jsonLog(level: string, fd = 1): Logger {
  const destination = pino.destination({ dest: fd, sync: true });
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
