import { toPrintableLine } from '../../common/printable-text.ts';
import { applyStyle, type Style, type TextFormat } from './text-format.ts';

export interface Cell {
  readonly text: string;
  readonly style?: Style | undefined;
}

export type Rows = readonly (readonly (Cell | string)[])[];

/** The text of a cell without a value, as in kubectl. */
export const NONE = '<none>';
const GAP = '  ';
const MAX_CELL_LENGTH = 1_000;

/** Never truncates names, because users search and copy them. */
export function formatTable(format: TextFormat, headers: readonly string[], rows: Rows): string {
  const header = headers.map((text): Cell => ({ text, style: 'bold' }));
  const cells = [header, ...rows].map((row) =>
    row.map((cell) => {
      const { text, style }: Cell = typeof cell === 'string' ? { text: cell } : cell;
      return { text: toPrintableLine(text, MAX_CELL_LENGTH), style };
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

function countCharacters(text: string): number {
  return Array.from(text).length;
}
