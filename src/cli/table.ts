import { applyStyle, type Style, type TextFormat } from './text-format.ts';

export interface Cell {
  readonly text: string;
  readonly style?: Style | undefined;
}

export interface Column {
  readonly head: string;
  /** The minimum width if the column may be cut. Absent: it is never cut. */
  readonly minWidth?: number;
  readonly isRightAligned?: boolean;
}

const GAP = '  ';

/**
 * Formats a table as kubectl does. If it is too wide, the widest of the columns that may be cut lose characters until
 * it fits.
 */
export function formatTable(
  format: TextFormat,
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
): string {
  const widths = fitWidths(columns, rows, format.width);
  const formatRow = (cells: readonly Cell[]): string => {
    const texts = cells.map(({ text, style }, index) => {
      const width = widths[index] ?? 0;
      const visibleText = cutMiddle(text, width);
      const padding = ' '.repeat(Math.max(0, width - countCharacters(visibleText)));
      const styledText = applyStyle(format, style, visibleText);
      return columns[index]?.isRightAligned === true ? padding + styledText : styledText + padding;
    });
    return texts.join(GAP).trimEnd();
  };
  const head = formatRow(columns.map((column) => ({ text: column.head })));
  return `${[applyStyle(format, 'dim', head), ...rows.map(formatRow)].join('\n')}\n`;
}

/** The width of a table without cuts. */
export function measureTable(columns: readonly Column[], rows: readonly (readonly Cell[])[]): number {
  return totalWidth(naturalWidths(columns, rows));
}

/** Cuts a text to `width` characters. A cut text ends with an ellipsis. */
export function truncate(text: string, width: number): string {
  const characters = Array.from(text);
  return characters.length <= width ? text : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`;
}

/** Similar names differ at the beginning (`worker-0.example.com`) or at the end (`worker-us-east-1a-4kd8z`). */
function cutMiddle(text: string, width: number): string {
  const characters = Array.from(text);
  if (characters.length <= width) return text;
  const headLength = Math.ceil((width - 1) / 2);
  const tail = characters.slice(characters.length - Math.max(0, width - 1 - headLength));
  return `${characters.slice(0, headLength).join('')}…${tail.join('')}`;
}

function fitWidths(columns: readonly Column[], rows: readonly (readonly Cell[])[], maxWidth: number): number[] {
  const widths = naturalWidths(columns, rows);
  while (totalWidth(widths) > maxWidth) {
    const candidates = columns.flatMap(({ minWidth }, index) => {
      const width = widths[index] ?? 0;
      return minWidth !== undefined && width > minWidth ? [{ index, width }] : [];
    });
    const [widest] = candidates.toSorted((a, b) => b.width - a.width);
    if (widest === undefined) break;
    widths[widest.index] = widest.width - 1;
  }
  return widths;
}

function naturalWidths(columns: readonly Column[], rows: readonly (readonly Cell[])[]): number[] {
  return columns.map(({ head }, index) => {
    return Math.max(...[head, ...rows.map((row) => row[index]?.text ?? '')].map(countCharacters));
  });
}

function totalWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + GAP.length * Math.max(0, widths.length - 1);
}

function countCharacters(text: string): number {
  return Array.from(text).length;
}
