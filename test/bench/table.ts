export interface Column {
  /** The key of its cells. */
  readonly key: string;
  readonly heading: string;
  /** Decimal places of a number. Default 0. */
  readonly digits?: number;
}

export type Row = Readonly<Record<string, string | number | null>>;

/** A result of a bench. */
export interface Table {
  readonly title: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  /** How to read the table, one sentence each. */
  readonly notes: readonly string[];
}

/** A figure and its limit. */
export interface Goal {
  readonly what: string;
  readonly found: number;
  readonly atMost: number;
}

const GOAL_COLUMNS: readonly Column[] = [
  ...createColumns({ what: 'what' }),
  ...createColumns({ found: 'found', atMost: 'at most' }, 2),
  ...createColumns({ reached: 'reached' }),
];

/** Columns by their keys, with their headings. */
export function createColumns(headings: Readonly<Record<string, string>>, digits = 0): readonly Column[] {
  return Object.entries(headings).map(([key, heading]) => ({
    key,
    heading,
    ...(digits === 0 ? {} : { digits }),
  }));
}

/** The columns of a summary in milliseconds. */
export function summaryColumns(digits = 0): readonly Column[] {
  return [...createColumns({ n: 'n' }), ...createColumns({ p50: 'p50', p90: 'p90', p99: 'p99' }, digits)];
}

/** A table of figures and their limits. A missed goal does not fail the bench. */
export function createGoalTable(title: string, goals: readonly Goal[]): Table {
  const rows = goals.map((goal) => ({ ...goal, reached: goal.found <= goal.atMost ? 'yes' : 'no' }));
  return { title, columns: GOAL_COLUMNS, rows, notes: [] };
}

/** The rows and notes as lines of Markdown, without the title. */
export function formatTable({ columns, rows, notes }: Table): string[] {
  return [
    `| ${columns.map(({ heading }) => heading).join(' | ')} |`,
    `|${columns.map(({ key }) => (rows.some((row) => typeof row[key] === 'number') ? '---:' : '---')).join('|')}|`,
    ...rows.map((row) => `| ${columns.map(({ key, digits }) => formatCell(row[key], digits)).join(' | ')} |`),
    ...(notes.length === 0 ? [] : ['', ...notes.map((note) => `- ${note}`)]),
  ];
}

function formatCell(value: string | number | null = '', digits = 0): string {
  if (typeof value !== 'number') return value ?? '';
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
