import { type ClusterStatus, VERIFY_ADVICE } from './cluster-status.ts';
import { toPrintableLine } from '../../common/printable-text.ts';
import { formatAge } from '../../client/output/short-forms.ts';
import { type Cell, formatTable } from '../../client/output/table.ts';
import { formatNext, type ReportFormat, wrapText } from '../../client/output/text-format.ts';

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

/** Context and state. */
const UNREAD_COLUMNS = 2;
const INDENT = '  ';
const MAX_REASON_LENGTH = 400;
/** The user may not read the value. */
const UNKNOWN: Cell = { text: '<unknown>' };

/** Printed only with `-o wide`. */
const WIDE_COLUMNS = new Set(['VERSION', 'FAILURE POLICY', 'LEADER', 'IN USE']);
const RIGHT_ALIGNED_COLUMNS = new Set(['REPLICAS', 'IN USE', 'DANGLING', 'LAST DENIAL']);

/** One line for each cluster, then what to do about those that are not protected by the guard. */
export function formatStatusReport(format: ReportFormat, { clusters, readAt }: StatusReport): string {
  const now = new Date(readAt).getTime();
  const cells = clusters.map((entry) =>
    Object.entries(createCells(entry, now)).filter(([header]) => format.isWide === true || !WIDE_COLUMNS.has(header)),
  );
  const columns = (cells[0] ?? []).map(([header]) => {
    return { header, isRightAligned: RIGHT_ALIGNED_COLUMNS.has(header) };
  });
  const rows = clusters.map((entry, index) => {
    const row = (cells[index] ?? []).map(([, cell]) => cell);
    return isRead(entry) ? row : row.slice(0, UNREAD_COLUMNS);
  });
  const details = clusters.flatMap((entry) => formatDetails(format, entry));
  return [formatTable(format, columns, rows), ...details, ...formatNext(format, VERIFY_ADVICE), ''].join('\n');
}

/** Keyed by column. */
function createCells(entry: StatusEntry, now: number): Readonly<Record<string, Cell>> {
  const { replicas, readyReplicas, certificates, danglingCount, lastDenial, unreadable } = entry;
  const replicaCounts = replicas === null ? null : `${readyReplicas}/${replicas}`;
  const denialAge = lastDenial && formatAge(now - new Date(lastDenial.time).getTime());
  return {
    CONTEXT: toCell(entry.context),
    STATE: toCell(entry.by === 'floor' ? `${entry.state} (floor)` : entry.state, !entry.protected),
    VERSION: toCell(entry.version),
    MODE: toCell(entry.mode),
    'FAILURE POLICY': unreadable.includes('webhook') ? UNKNOWN : toCell(entry.failurePolicy),
    REPLICAS: unreadable.includes('Deployment')
      ? UNKNOWN
      : toCell(replicaCounts, (readyReplicas ?? 0) < (replicas ?? 0)),
    LEADER: unreadable.includes('Lease') ? UNKNOWN : toCell(entry.leader),
    CERTIFICATES: toCell(certificates?.reason ?? null, certificates?.valid === false),
    'IN USE': toCell(entry.protectedConfigs),
    DANGLING: toCell(danglingCount, (danglingCount ?? 0) > 0),
    'LAST DENIAL': toCell(denialAge),
  };
}

function isRead({ evidence }: StatusEntry): boolean {
  return evidence.length > 0;
}

function formatDetails(format: ReportFormat, entry: StatusEntry): string[] {
  const { context, state, explanation, advice } = entry;
  if (state === 'PROTECTED' && advice === null) return [];
  const text = toPrintableLine(`${context}: ${state}: ${explanation}`, MAX_REASON_LENGTH);
  const width = format.width - INDENT.length;
  const next = advice === null ? [] : formatNext({ ...format, width }, advice);
  const [first, ...lines] = [...wrapText(text, width), ...next];
  return [first ?? '', ...lines.map((line) => INDENT + line), ''];
}

function toCell(value: string | number | null, isProblem = false): Cell {
  return {
    text: value === null ? '<none>' : toPrintableLine(String(value), 100),
    style: isProblem ? 'red' : undefined,
  };
}
