import type { ClusterStatus } from '../../inspect/cluster-status.ts';
import { toPrintableLine } from '../../decision/printable-text.ts';
import { toShellWord } from '../../inspect/shell-word.ts';
import { formatAge } from '../format-duration.ts';
import { type Cell, type Column, formatTable } from '../table.ts';
import { type TextFormat, wrapText } from '../text-format.ts';

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
  /** A narrow terminal lacks the columns with the highest numbers. */
  readonly rank: number;
  readonly toCell: (entry: StatusEntry, now: number) => Cell;
}

const GAP = 2;
const INDENT = '  ';
const MAX_REASON_LENGTH = 400;

/** The first two stay at every width. */
const COLUMNS: readonly StatusColumn[] = [
  { header: 'CONTEXT', rank: 0, toCell: ({ context }) => toCell(context) },
  { header: 'STATE', rank: 0, toCell: ({ state }) => toCell(state, state !== 'PROTECTED') },
  { header: 'VERSION', rank: 7, toCell: ({ version }) => toCell(version) },
  { header: 'MODE', rank: 1, toCell: ({ mode }) => toCell(mode) },
  { header: 'FAILURE POLICY', rank: 8, toCell: ({ failurePolicy }) => toCell(failurePolicy) },
  {
    header: 'REPLICAS',
    rank: 2,
    isRightAligned: true,
    toCell: ({ replicas, readyReplicas }) => {
      if (replicas === null || readyReplicas === null) return toCell(null);
      return toCell(`${readyReplicas}/${replicas}`, readyReplicas < replicas);
    },
  },
  { header: 'LEADER', rank: 9, toCell: ({ leader }) => toCell(leader) },
  {
    header: 'CERTIFICATES',
    rank: 5,
    toCell: ({ certificates }) => toCell(certificates?.reason ?? null, certificates?.valid === false),
  },
  {
    header: 'IN USE',
    rank: 6,
    isRightAligned: true,
    toCell: ({ protectedConfigs }) => toCell(protectedConfigs),
  },
  {
    header: 'DANGLING',
    rank: 3,
    isRightAligned: true,
    toCell: ({ danglingCount }) => toCell(danglingCount, (danglingCount ?? 0) > 0),
  },
  {
    header: 'LAST DENIAL',
    rank: 4,
    isRightAligned: true,
    toCell: ({ lastDenial }, now) =>
      toCell(lastDenial === null ? null : formatAge(now - new Date(lastDenial.time).getTime())),
  },
];

/** One line for each cluster, then what to do about those that are not protected by the guard. */
export function formatStatusReport(format: TextFormat, { clusters, readAt }: StatusReport): string {
  const now = new Date(readAt).getTime();
  const columns = selectColumns(format, clusters, now);
  const rows = clusters.map((entry) => {
    const cells = columns.map((column) => column.toCell(entry, now));
    return isRead(entry) ? cells : cells.slice(0, 2);
  });
  const [header = '', ...lines] = formatTable(format, columns, rows).trimEnd().split('\n');
  const stateWidth = Math.max(...clusters.map(({ state }) => state.length), 'STATE'.length);
  const table = clusters.map((entry, index) => {
    const { state, explanation } = entry;
    const line = lines[index] ?? '';
    if (isRead(entry)) return line;
    const padding = ' '.repeat(stateWidth - state.length + GAP);
    return `${line}${padding}${toPrintableLine(explanation, MAX_REASON_LENGTH)}`;
  });
  const details = clusters.flatMap((entry) => formatDetails(format, entry));
  const notice = 'Nothing was tested: run machineconfig-guard verify for a trial deletion.';
  return [header, ...table, '', ...details, notice, ''].join('\n');
}

function isRead({ evidence }: StatusEntry): boolean {
  return evidence.length > 0;
}

/** Drops the least important columns until the table fits. */
function selectColumns(
  { width }: TextFormat,
  clusters: readonly StatusEntry[],
  now: number,
): readonly StatusColumn[] {
  const measured = COLUMNS.map((column) => {
    // The first two columns also have values of clusters that were not read.
    const entries = clusters.filter((entry) => column.rank === 0 || isRead(entry));
    const texts = entries.map((entry) => column.toCell(entry, now).text);
    return { column, width: Math.max(column.header.length, ...texts.map((text) => text.length)) + GAP };
  });
  const selected = new Set(measured);
  const byRank = measured.toSorted((a, b) => b.column.rank - a.column.rank);
  for (const candidate of byRank) {
    const total = [...selected].reduce((sum, part) => sum + part.width, -GAP);
    if (total <= width || candidate.column.rank === 0) break;
    selected.delete(candidate);
  }
  return [...selected].map(({ column }) => column);
}

function formatDetails({ width }: TextFormat, entry: StatusEntry): string[] {
  const { context, state, explanation, advice } = entry;
  if (!isRead(entry) || advice === '') return [];
  const maxWidth = Math.min(width, 100) - INDENT.length;
  const text = wrapText(`${context}: ${state}: ${explanation}.`, maxWidth);
  // A command must not be wrapped.
  return [
    ...text.map((line, index) => (index === 0 ? line : INDENT + line)),
    `${INDENT}Next: ${addContext(advice, context)}`,
    '',
  ];
}

/** Commands must not act on the cluster of the current context. */
function addContext(advice: string, context: string): string {
  if (context === '') return advice;
  return advice.replaceAll(
    /\b(?:oc|machineconfig-guard verify)\b(?! --context)/g,
    `$& --context ${toShellWord(context)}`,
  );
}

function toCell(value: string | number | null, isProblem = false): Cell {
  return {
    text: value === null ? '<none>' : toPrintableLine(String(value), 100),
    style: isProblem ? 'red' : undefined,
  };
}
