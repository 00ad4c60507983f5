import type { ClusterStatus } from '../../protection/status.ts';
import { toPrintableLine } from '../../common/printable-text.ts';
import type { ClusterFlags } from '../cluster-options.ts';
import { addFlagsToAdvice } from '../command-flags.ts';
import { formatAge } from '../format-duration.ts';
import { type Cell, type Column, formatTable } from '../table.ts';
import { type TableFormat, wrapAdvice } from '../text-format.ts';

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
  /** Only with `-o wide`. */
  readonly isWide?: boolean;
  readonly toCell: (entry: StatusEntry, now: number) => Cell;
}

/** Context and state. */
const UNREAD_COLUMNS = 2;
const INDENT = '  ';
const MAX_REASON_LENGTH = 400;
/** The user may not read the value. */
const UNKNOWN: Cell = { text: '<unknown>' };

const COLUMNS: readonly StatusColumn[] = [
  { header: 'CONTEXT', toCell: ({ context }) => toCell(context) },
  { header: 'STATE', toCell: ({ state }) => toCell(state, state !== 'PROTECTED') },
  { header: 'VERSION', isWide: true, toCell: ({ version }) => toCell(version) },
  { header: 'MODE', toCell: ({ mode }) => toCell(mode) },
  {
    header: 'FAILURE POLICY',
    isWide: true,
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
    isWide: true,
    toCell: ({ leader, unreadable }) => (unreadable.includes('Lease') ? UNKNOWN : toCell(leader)),
  },
  {
    header: 'CERTIFICATES',
    toCell: ({ certificates }) => toCell(certificates?.reason ?? null, certificates?.valid === false),
  },
  {
    header: 'IN USE',
    isWide: true,
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
  const columns = COLUMNS.filter(({ isWide }) => isWide !== true || format.isWide === true);
  const rows = clusters.map((entry) =>
    (isRead(entry) ? columns : columns.slice(0, UNREAD_COLUMNS)).map(({ toCell }) => toCell(entry, now)),
  );
  const details = clusters.flatMap((entry) => formatDetails(format, entry));
  const notice = 'Nothing was tested: run machineconfig-guard verify for a trial deletion.';
  const noticeLines = wrapAdvice(addFlagsToAdvice(notice, flags), format.width);
  return [formatTable(format, columns, rows), ...details, ...noticeLines, ''].join('\n');
}

function isRead({ evidence }: StatusEntry): boolean {
  return evidence.length > 0;
}

function formatDetails({ width }: TableFormat, entry: StatusEntry): string[] {
  const { context, state, explanation, advice } = entry;
  if (state === 'PROTECTED' && advice === '') return [];
  const text = toPrintableLine(`${context}: ${state}: ${explanation}`, MAX_REASON_LENGTH);
  const next = advice === '' ? [] : wrapAdvice(`Next: ${advice}`, width - INDENT.length);
  const [first, ...lines] = [...wrapAdvice(text, width - INDENT.length), ...next];
  return [first ?? '', ...lines.map((line) => INDENT + line), ''];
}

function toCell(value: string | number | null, isProblem = false): Cell {
  return {
    text: value === null ? '<none>' : toPrintableLine(String(value), 100),
    style: isProblem ? 'red' : undefined,
  };
}
