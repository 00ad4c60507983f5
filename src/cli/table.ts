import { type Page, applyStyle, type Style } from './page.ts';

/** A cell and how it looks. */
export interface Cell {
  readonly text: string;
  readonly style?: Style | undefined;
}

/** One column. */
export interface Column {
  readonly head: string;
  /** The fewest characters that it may be cut to where the table is too wide. Absent: it is never cut. */
  readonly min?: number;
  /** Numbers stand right. */
  readonly right?: boolean;
}

const GAP = '  ';

/**
 * A table as kubectl prints them: capitals above, columns as wide as their contents, two blanks between. Where that is wider
 * than the page, the columns that may be cut are, the widest first.
 */
export function formatTable(page: Page, columns: readonly Column[], rows: readonly (readonly Cell[])[]): string {
  const widths = fitted(columns, rows, page.width);
  const line = (cells: readonly Cell[]): string => {
    const texts = cells.map(({ text, style }, index) => {
      const width = widths[index] ?? 0;
      const shown = shortened(text, width);
      const padding = ' '.repeat(Math.max(0, width - lengthOf(shown)));
      const colored = applyStyle(page, style, shown);
      return columns[index]?.right === true ? padding + colored : colored + padding;
    });
    return texts.join(GAP).trimEnd();
  };
  const head = line(columns.map((column) => ({ text: column.head })));
  return `${[applyStyle(page, 'dim', head), ...rows.map(line)].join('\n')}\n`;
}

/** How wide a table would be without cuts. */
export function measureTable(columns: readonly Column[], rows: readonly (readonly Cell[])[]): number {
  return total(natural(columns, rows));
}

/** The text in at most so many characters, with an ellipsis where something is left out. */
export function truncate(text: string, width: number): string {
  const characters = Array.from(text);
  return characters.length <= width ? text : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`;
}

/** Names that are alike differ at their beginning (`worker-0.example.com`) or at their end (`worker-us-east-1a-4kd8z`): both stay. */
function shortened(text: string, width: number): string {
  const characters = Array.from(text);
  if (characters.length <= width) return text;
  const head = Math.ceil((width - 1) / 2);
  const tail = characters.slice(characters.length - Math.max(0, width - 1 - head));
  return `${characters.slice(0, head).join('')}…${tail.join('')}`;
}

function fitted(columns: readonly Column[], rows: readonly (readonly Cell[])[], pageWidth: number): number[] {
  const widths = natural(columns, rows);
  while (total(widths) > pageWidth) {
    const candidates = columns.flatMap(({ min }, index) => {
      const width = widths[index] ?? 0;
      return min !== undefined && width > min ? [{ index, width }] : [];
    });
    const [widest] = candidates.toSorted((a, b) => b.width - a.width);
    if (widest === undefined) break;
    widths[widest.index] = widest.width - 1;
  }
  return widths;
}

function natural(columns: readonly Column[], rows: readonly (readonly Cell[])[]): number[] {
  const widths = columns.map(({ head }) => lengthOf(head));
  for (const row of rows) {
    for (const [index, { text }] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, lengthOf(text));
  }
  return widths;
}

function total(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + GAP.length * Math.max(0, widths.length - 1);
}

function lengthOf(text: string): number {
  return Array.from(text).length;
}
