import { toPrintableLine } from '../../common/printable-text.ts';
import { applyStyle, type Style, type TextFormat } from './text-format.ts';

export interface Cell {
  readonly text: string;
  readonly style?: Style | undefined;
}

export interface Column {
  readonly header: string;
  readonly isRightAligned?: boolean;
}

const GAP = '  ';
/** Longer than every name. */
const MAX_CELL_LENGTH = 1_000;

/** Never truncates names, because users search and copy them. */
export function formatTable(
  format: TextFormat,
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
): string {
  const header = columns.map(({ header: text }): Cell => ({ text, style: 'bold' }));
  const cells = [header, ...rows].map((row) =>
    row.map(({ text, style }) => ({ text: toPrintableLine(text, MAX_CELL_LENGTH), style })),
  );
  const widths = columns.map((_column, index) =>
    cells.reduce((max, row) => Math.max(max, countCharacters(row[index]?.text ?? '')), 0),
  );
  const lines = cells.map((row) => {
    const texts = row.map(({ text, style }, index) => {
      const padding = ' '.repeat((widths[index] ?? 0) - countCharacters(text));
      const styledText = applyStyle(format, style, text);
      return columns[index]?.isRightAligned === true ? padding + styledText : styledText + padding;
    });
    return `${texts.join(GAP).trimEnd()}\n`;
  });
  return lines.join('');
}

function countCharacters(text: string): number {
  return Array.from(text).length;
}
