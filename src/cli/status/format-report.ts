import type { ClusterStatus } from '../../inspect/cluster-status.ts';
import { toPrintableLine } from '../../common/printable-text.ts';
import type { ClusterFlags } from '../cluster-options.ts';
import { addFlagsToAdvice } from '../command-flags.ts';
import { formatAge } from '../format-duration.ts';
import { type Cell, type Column, formatFittingTable, omitColumn, type Table } from '../table.ts';
import { getLineWidth, type TableFormat, wrapAdvice, wrapBeside, wrapText } from '../text-format.ts';

/** One cluster in the JSON of `status`. */
export type StatusEntry = Omit<ClusterStatus, 'server' | 'state'> & {
  readonly context: string;
  /** Null if the kubeconfig has no usable server. */
  readonly server: string | null;
  /** Without evidence, the explanation is the error, and all values are null. */
  readonly state: ClusterStatus['state'] | 'UNREACHABLE';
};

/** The JSON of `status`. Its keys are a contract. */
export interface StatusReport {
  readonly readAt: string;
  readonly clusters: readonly StatusEntry[];
}

interface StatusColumn extends Column {
  readonly toCell: (entry: StatusEntry, now: number) => Cell;
}

const GAP = 2;
/** Context and state. */
const UNREAD_COLUMNS = 2;
const INDENT = '  ';
const MAX_REASON_LENGTH = 400;

/** Of a narrow terminal. */
const OMITTED_COLUMNS = [
  'LEADER',
  'FAILURE POLICY',
  'VERSION',
  'IN USE',
  'CERTIFICATES',
  'LAST DENIAL',
  'DANGLING',
  'REPLICAS',
  'MODE',
];

/** The user may not read the value. */
const UNKNOWN: Cell = { text: '<unknown>' };

const COLUMNS: readonly StatusColumn[] = [
  { header: 'CONTEXT', toCell: ({ context }) => toCell(context) },
  { header: 'STATE', toCell: ({ state }) => toCell(state, state !== 'PROTECTED') },
  { header: 'VERSION', toCell: ({ version }) => toCell(version) },
  { header: 'MODE', toCell: ({ mode }) => toCell(mode) },
  {
    header: 'FAILURE POLICY',
    toCell: ({ failurePolicy, unreadable }) =>
      unreadable.includes('webhook') ? UNKNOWN : toCell(failurePolicy),
  },
  {
    header: 'REPLICAS',
    isRightAligned: true,
    toCell: ({ replicas, readyReplicas, unreadable }) => {
      if (unreadable.includes('Deployment')) return UNKNOWN;
      if (replicas === null || readyReplicas === null) return toCell(null);
      return toCell(`${readyReplicas}/${replicas}`, readyReplicas < replicas);
    },
  },
  {
    header: 'LEADER',
    toCell: ({ leader, unreadable }) => (unreadable.includes('Lease') ? UNKNOWN : toCell(leader)),
  },
  {
    header: 'CERTIFICATES',
    toCell: ({ certificates }) => toCell(certificates?.reason ?? null, certificates?.valid === false),
  },
  {
    header: 'IN USE',
    isRightAligned: true,
    toCell: ({ protectedConfigs }) => toCell(protectedConfigs),
  },
  {
    header: 'DANGLING',
    isRightAligned: true,
    toCell: ({ danglingCount }) => toCell(danglingCount, (danglingCount ?? 0) > 0),
  },
  {
    header: 'LAST DENIAL',
    isRightAligned: true,
    toCell: ({ lastDenial }, now) =>
      toCell(lastDenial === null ? null : formatAge(now - new Date(lastDenial.time).getTime())),
  },
];

/** One line for each cluster, then what to do about those that are not protected by the guard. */
export function formatStatusReport(
  format: TableFormat,
  { clusters, readAt }: StatusReport,
  flags: ClusterFlags = {},
): string {
  const now = new Date(readAt).getTime();
  const rows = clusters.map((entry) => {
    const cells = COLUMNS.map((column) => column.toCell(entry, now));
    return isRead(entry) ? cells : cells.slice(0, UNREAD_COLUMNS);
  });
  const tables: Table[] = [{ columns: COLUMNS, rows }];
  for (const column of OMITTED_COLUMNS)
    tables.push(...tables.slice(-1).map((table) => omitColumn(table, column)));
  const limit = format.isWide === true ? undefined : format.columns;
  const text = formatFittingTable({ ...format, columns: limit }, tables);
  const [header = '', ...lines] = text.trimEnd().split('\n');
  const stateWidth = Math.max(...clusters.map(({ state }) => state.length), 'STATE'.length);
  const tableLines = clusters.map((entry, index) => {
    const { state, explanation } = entry;
    const line = lines[index] ?? '';
    if (isRead(entry)) return line;
    const padding = ' '.repeat(stateWidth - state.length + GAP);
    return wrapBeside(line + padding, toPrintableLine(explanation, MAX_REASON_LENGTH), getLineWidth(format));
  });
  const details = clusters.flatMap((entry) => formatDetails(format, entry));
  const notice = 'Nothing was tested: run machineconfig-guard verify for a trial deletion.';
  const noticeLines = wrapAdvice(addFlagsToAdvice(notice, flags), format.width);
  return [header, ...tableLines, '', ...details, ...noticeLines, ''].join('\n');
}

function isRead({ evidence }: StatusEntry): boolean {
  return evidence.length > 0;
}

function formatDetails({ width }: TableFormat, entry: StatusEntry): string[] {
  const { context, state, explanation, advice } = entry;
  if (!isRead(entry) || advice === '') return [];
  const text = wrapText(
    toPrintableLine(`${context}: ${state}: ${explanation}.`, MAX_REASON_LENGTH),
    width - INDENT.length,
  );
  const [first, ...others] = text;
  const lines = [...others, ...wrapAdvice(`Next: ${advice}`, width - INDENT.length)];
  return [first ?? '', ...lines.map((line) => INDENT + line), ''];
}

function toCell(value: string | number | null, isProblem = false): Cell {
  return {
    text: value === null ? '<none>' : toPrintableLine(String(value), 100),
    style: isProblem ? 'red' : undefined,
  };
}
