/** A result of a bench. */
export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  /** A cell for each column. The first one says what was measured. */
  readonly rows: readonly (readonly string[])[];
  /** How to read the table, one sentence each. */
  readonly notes: readonly string[];
}

/** A number with this many decimal places; nothing if it was not measured. */
export function formatNumber(value: number | undefined, digits = 0): string {
  if (value === undefined || !Number.isFinite(value)) return '';
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** The title, the rows and the notes as lines of Markdown. */
export function formatTable({ title, columns, rows, notes }: Table): string[] {
  const formatRow = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const alignments = columns.map((_, index) => (index === 0 ? '---' : '---:'));
  const table = [formatRow(columns), formatRow(alignments), ...rows.map(formatRow)];
  return ['', `## ${title}`, '', ...table, ...(notes.length === 0 ? [] : ['', ...notes])];
}
