import { countNoun, toPrintableLine } from '../../common/printable-text.ts';
import { REFERRER_NOUNS } from '../../decision/references.ts';
import type { CheckReport } from '../../inspect/check-report.ts';
import { formatDuration } from '../format-duration.ts';
import { formatProgressLine } from '../report-output.ts';

const MAX_CHANGES = 20;
const MAX_LINE_LENGTH = 400;

/** Prints a line for each change during `check --wait`. */
export class Progress {
  readonly #write: (text: string) => void;
  readonly #timeoutMs: number;
  #pending: ReadonlyMap<string, string> | undefined;
  #failure: string | undefined;

  constructor(write: (text: string) => void, timeoutMs: number) {
    this.#write = write;
    this.#timeoutMs = timeoutMs;
  }

  printReport(report: CheckReport, elapsedMs: number): void {
    const before = this.#pending;
    const pending = findPending(report);
    const lines: string[] = [];
    if (this.#failure !== undefined) lines.push('the API server is reachable again');
    for (const [subject, problem] of pending) {
      if (before?.get(subject) !== problem) lines.push(`${subject}: ${problem}`);
    }
    for (const subject of before?.keys() ?? []) if (!pending.has(subject)) lines.push(`${subject}: fine`);
    if (!report.ok) {
      const counts = formatCounts(report);
      if (before === undefined) lines.unshift(`waiting up to ${formatDuration(this.#timeoutMs)}: ${counts}`);
      else if (lines.length > 0) lines.push(counts);
    }
    this.#failure = undefined;
    this.#pending = pending;
    this.#printLines(lines, elapsedMs);
  }

  printFailure(reason: string, elapsedMs: number): void {
    if (reason === this.#failure) return;
    this.#failure = reason;
    this.#printLines([`${reason}; retrying`], elapsedMs);
  }

  #printLines(lines: string[], elapsedMs: number): void {
    const more = lines.length - MAX_CHANGES;
    if (more > 0) lines.splice(MAX_CHANGES - 1, more, `and ${more} more changes`);
    for (const line of lines) this.#write(formatProgressLine(line, elapsedMs));
  }
}

function findPending({ problems, pendingCertificateRequests: { requests } }: CheckReport): Map<string, string> {
  const pending = new Map<string, string>();
  for (const { kind, name, message } of problems) {
    const subject = kind === null ? 'selection' : `${REFERRER_NOUNS[kind]} ${name}`;
    const problem = kind === null ? message : message.slice(subject.length + ': '.length);
    const earlier = pending.get(subject);
    pending.set(
      subject,
      toPrintableLine(earlier === undefined ? problem : `${earlier}, ${problem}`, MAX_LINE_LENGTH),
    );
  }
  if (requests.length > 0) {
    const names = requests.map(({ name, node }) => (node === null ? name : `${name} of ${node}`));
    const text = `${requests.length} pending (${names.join(', ')})`;
    pending.set('certificate requests', toPrintableLine(text, MAX_LINE_LENGTH));
  }
  return pending;
}

function formatCounts({ nodes, pools }: CheckReport): string {
  return `${formatCount(nodes, 'node')} and ${formatCount(pools, 'pool')} fine`;
}

function formatCount(objects: readonly { readonly ok: boolean }[], noun: string): string {
  return `${objects.filter(({ ok }) => ok).length} of ${countNoun(objects.length, noun)}`;
}
