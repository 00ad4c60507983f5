import { pino } from 'pino';

/** A log that keeps its lines, parsed. */
export function memoryLog() {
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    { level: 'debug', base: null },
    { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  return { log, lines, messages: () => lines.map(({ msg }) => String(msg)) };
}
