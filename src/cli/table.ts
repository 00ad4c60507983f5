import { applyStyle, type Style, type TableFormat, type TextFormat } from './text-format.ts';

export interface Cell {
  readonly text: string;
  readonly style?: Style | undefined;
}

export interface Column {
  readonly header: string;
  readonly isRightAligned?: boolean;
}

export interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
}

const GAP = '  ';

/** Formats the first table that fits into the terminal, else the last one. A pipe gets the first one. */
export function formatFittingTable(format: TableFormat, tables: readonly Table[]): string {
  const { columns: maxWidth = Number.POSITIVE_INFINITY } = format;
  const table = tables.find((candidate) => measure(candidate) <= maxWidth) ?? tables.at(-1);
  return table === undefined ? '' : formatTable(format, table.columns, table.rows);
}

export function omitColumn({ columns, rows }: Table, header: string): Table {
  const index = columns.findIndex((column) => column.header === header);
  return { columns: columns.toSpliced(index, 1), rows: rows.map((row) => row.toSpliced(index, 1)) };
}

function measure({ columns, rows }: Table): number {
  const widths = measureColumns(columns, rows);
  return widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1));
}

function measureColumns(columns: readonly Column[], rows: Table['rows']): number[] {
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
