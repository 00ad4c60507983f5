import type { CliError } from '../exit.ts';
import type { CommandFormatter } from './advice.ts';
import { formatNext, getErrorWidth, wrapText } from './text-format.ts';

/**
 * The text of an error for stderr. It is one line for a script. For a terminal, and with two ways out, each command has
 * its own line, because a person copies it.
 */
export function formatError(error: CliError, commands: CommandFormatter): string {
  const width = getErrorWidth();
  if (width === undefined && error.otherwise === undefined) return `${commands.program}: ${error.describe(commands)}`;
  const format = { width: width ?? Number.POSITIVE_INFINITY, hasColors: false, commands };
  const next = error.ways.flatMap((way) => formatNext(format, way));
  return [...wrapText(`${commands.program}: ${error.message}`, format.width), ...next].join('\n');
}
