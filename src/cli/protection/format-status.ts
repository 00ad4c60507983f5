import { inContext } from '../../client/output/advice.ts';
import { formatAge } from '../../client/output/short-forms.ts';
import { type Cell, formatTable } from '../../client/output/table.ts';
import { formatNext, type ReportFormat, wrapText } from '../../client/output/text-format.ts';
import { toPrintableLine } from '../../common/printable-text.ts';
import { VERIFY_ADVICE } from './protection.ts';
import type { ClusterStatus, StatusReport } from './status.ts';

const MAX_REASON_LENGTH = 400;

/** One line for each cluster, then what to do about those that are not protected by the guard. */
export function formatStatusReport(format: ReportFormat, { clusters, readAt }: StatusReport): string {
  const now = new Date(readAt).getTime();
  const cells = clusters.map((entry) => createCells(entry, now));
  const headers = Object.keys(cells[0] ?? {});
  // Of a cluster that was not read, context and state are known.
  const rows = clusters.map((entry, index) =>
    Object.values(cells[index] ?? {}).slice(0, isRead(entry) ? undefined : 2),
  );
  const details = clusters.flatMap((entry) => formatDetails(format, entry));
  // Of several clusters, the reader chooses one.
  const [first, ...others] = clusters.filter(isRead);
  const advice = first && inContext(VERIFY_ADVICE, others.length > 0 ? 'CONTEXT' : first.context);
  const isAdvised = clusters.some((entry) => entry.advice?.text === VERIFY_ADVICE.text);
  const next = advice === undefined || isAdvised ? [] : formatNext(format, advice);
  return [formatTable(format, headers, rows), ...details, ...next, ''].join('\n');
}

/** Keyed by column. A value that the user may not read is unknown. */
function createCells(entry: ClusterStatus, now: number): Readonly<Record<string, Cell>> {
  const { replicas, readyReplicas, certificates, danglingCount, lastDenial, unreadable } = entry;
  const replicaCounts = replicas === null ? null : `${readyReplicas}/${replicas}`;
  const denialAge = lastDenial?.time === undefined ? null : formatAge(now - Date.parse(lastDenial.time));
  return {
    CONTEXT: toCell(entry.context),
    STATE: toCell(entry.by === 'floor' ? `${entry.state} (floor)` : entry.state, !entry.protected),
    MODE: toCell(entry.mode),
    REPLICAS: unreadable.includes('deployment')
      ? { text: '<unknown>' }
      : toCell(replicaCounts, (readyReplicas ?? 0) < (replicas ?? 0)),
    CERTIFICATES: toCell(certificates?.reason ?? null, certificates?.valid === false),
    DANGLING: toCell(danglingCount, (danglingCount ?? 0) > 0),
    'LAST DENIAL': toCell(denialAge),
  };
}

function isRead({ unreadable }: ClusterStatus): boolean {
  return !unreadable.includes('guard');
}

function formatDetails(format: ReportFormat, entry: ClusterStatus): string[] {
  const { context, state, explanation, advice, wayOut } = entry;
  if (state === 'PROTECTED' && advice === null) return [];
  const text = toPrintableLine(`${context}: ${state}: ${explanation}`, MAX_REASON_LENGTH);
  const width = format.width - 2;
  const next = [advice, wayOut].flatMap((item) => (item === null ? [] : formatNext({ ...format, width }, item)));
  const [first, ...lines] = [...wrapText(text, width), ...next];
  return [first ?? '', ...lines.map((line) => `  ${line}`), ''];
}

function toCell(value: string | number | null, isProblem = false): Cell {
  return {
    text: value === null ? '<none>' : toPrintableLine(String(value), 100),
    style: isProblem ? 'red' : undefined,
  };
}
