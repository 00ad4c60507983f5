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

function measureColumns(columns: readonly Column[], rows: readonly (readonly Cell[])[]): number[] {
  return columns.map(({ header }, index) => {
    const texts = [header, ...rows.map((row) => row[index]?.text ?? '')];
    return texts.reduce((max, text) => Math.max(max, countCharacters(text)), 0);
  });
}

/** Never truncates cells, because users search and copy names. */
export function formatTable(
  format: TextFormat,
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
): string {
  const headerCells = columns.map(({ header }): Cell => ({ text: header, style: 'bold' }));
  const widths = measureColumns(columns, rows);
  const lines = [headerCells, ...rows].map((row) => {
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
