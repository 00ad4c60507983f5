import type { Column, Table } from './bench.ts';

/** What was wanted of a figure, and what became of it. */
export interface Goal {
  readonly what: string;
  readonly found: number;
  readonly atMost: number;
}

const COLUMNS: readonly Column[] = [
  { key: 'what', heading: 'what' },
  { key: 'found', heading: 'found', digits: 2 },
  { key: 'atMost', heading: 'at most', digits: 2 },
  { key: 'reached', heading: 'reached' },
];

/** Is this what {@link goalTable} made? Also of a report that was read from its file. */
export function isGoalTable({ columns }: Table): boolean {
  return JSON.stringify(columns) === JSON.stringify(COLUMNS);
}

/** The figures that matter beside what was wanted of them. One that was missed is told, and fails nothing. */
export function goalTable(title: string, goals: readonly Goal[], notes: readonly string[] = []): Table {
  const rows = goals.map(({ what, found, atMost }) => ({
    what,
    found,
    atMost,
    reached: found <= atMost ? 'yes' : 'no',
  }));
  return { title, columns: COLUMNS, rows, notes };
}
