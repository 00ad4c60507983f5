import { stripVTControlCharacters } from 'node:util';
import { joinWithAnd, toPrintableLine } from '../../common/printable-text.ts';
import { applyStyle, type Style, type TextFormat } from './text-format.ts';

export interface Cell {
  readonly text: string;
  readonly style?: Style | undefined;
}

export type Rows = readonly (readonly (Cell | string)[])[];

/** The text of a cell without a value, as in kubectl. */
export const NONE = '<none>';
const GAP = '  ';

/** Never truncates names, because users search and copy them. */
export function formatTable(format: TextFormat, headers: readonly string[], rows: Rows): string {
  const header = headers.map((text): Cell => ({ text, style: 'bold' }));
  const cells = [header, ...rows].map((row) =>
    row.map((cell) => {
      const { text, style }: Cell = typeof cell === 'string' ? { text: cell } : cell;
      return { text: toPrintableLine(text), style };
    }),
  );
  const widths = headers.map((_header, index) =>
    cells.reduce((max, row) => Math.max(max, countCharacters(row[index]?.text ?? '')), 0),
  );
  const lines = cells.map((row) => {
    const texts = row.map(({ text, style }, index) => {
      const padding = ' '.repeat((widths[index] ?? 0) - countCharacters(text));
      return applyStyle(format, style, text) + padding;
    });
    return `${texts.join(GAP).trimEnd()}\n`;
  });
  return lines.join('');
}

/**
 * Drops columns until the terminal does not wrap the lines of the table, unless `-o wide` prints it whole.
 * @param dispensable headers, the one to drop first is the first
 * @param whereElse how to see the dropped columns. Their headers follow it
 */
export function formatNarrowTable(
  format: TextFormat,
  headers: readonly string[],
  rows: Rows,
  dispensable: readonly string[],
  whereElse = '-o wide also prints',
): string {
  const { columns = Number.POSITIVE_INFINITY, isWide } = format;
  for (let count = 0; ; count += 1) {
    const dropped = headers.filter((header) => dispensable.slice(0, count).includes(header));
    const isKept = (_cell: unknown, index: number): boolean => !dropped.includes(headers[index] ?? '');
    const keptRows = rows.map((row) => row.filter(isKept));
    const text = formatTable(format, headers.filter(isKept), keptRows);
    const fits = text.split('\n').every((line) => stripVTControlCharacters(line).length <= columns);
    if (!fits && isWide !== true && count < dispensable.length) continue;
    return dropped.length === 0 ? text : `${text}(${whereElse} ${joinWithAnd(dropped)})\n`;
  }
}

function countCharacters(text: string): number {
  return Array.from(text).length;
}
