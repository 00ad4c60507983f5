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

function measureColumns(columns: readonly Column[], rows: readonly (readonly Cell[])[]): number[] {
  return columns.map(({ header }, index) => {
    const texts = [header, ...rows.map((row) => row[index]?.text ?? '')];
    return texts.reduce((max, text) => Math.max(max, countCharacters(text)), 0);
  });
}

/** Never truncates names, because users search and copy them. */
export function formatTable(
  format: TextFormat,
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
): string {
  const safeRows = rows.map((row) =>
    row.map((cell) => ({ ...cell, text: toPrintableLine(cell.text, MAX_CELL_LENGTH) })),
  );
  const headerCells = columns.map(({ header }): Cell => ({ text: header, style: 'bold' }));
  const widths = measureColumns(columns, safeRows);
  const lines = [headerCells, ...safeRows].map((row) => {
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
