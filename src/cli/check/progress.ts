import { countNoun, toPrintableLine } from '../../decision/printable-text.ts';
import type { CheckReport } from '../../inspect/check-report.ts';
import { formatDuration } from '../format-duration.ts';
import { truncate } from '../table.ts';
import { applyStyle, type OutputStream, type TextFormat } from '../text-format.ts';

/** Shows the progress of `check --wait`. Times are milliseconds since the start. */
export interface Progress {
  showReport(report: CheckReport, elapsedMs: number): void;
  /** Shows why the cluster could not be read. */
  showFailure(reason: string, elapsedMs: number): void;
  /** Removes what is only shown temporarily. Can be called more than once. */
  end(): void;
}

export interface ProgressStream extends OutputStream {
  readonly rows?: number;
  write(text: string): void;
}

/** More changes between two reports are not readable. */
const MAX_CHANGES = 20;
const REDRAW_INTERVAL_MS = 1_000;
const DEFAULT_ROWS = 24;
const MAX_LINE_LENGTH = 400;

/** Redraws the state on a terminal. On any other stream, writes a line for each change. */
export function createProgress(stream: ProgressStream, format: TextFormat, timeoutMs: number): Progress {
  return stream.isTTY === true ? new ScreenProgress(stream, format, timeoutMs) : new LineProgress(stream, timeoutMs);
}

class LineProgress implements Progress {
  readonly #stream: ProgressStream;
  readonly #timeoutMs: number;
  #pending: ReadonlyMap<string, string> | undefined;
  #failure: string | undefined;

  constructor(stream: ProgressStream, timeoutMs: number) {
    this.#stream = stream;
    this.#timeoutMs = timeoutMs;
  }

  showReport(report: CheckReport, elapsedMs: number): void {
    const before = this.#pending;
    const pending = findPending(report);
    const lines: string[] = [];
    if (this.#failure !== undefined) lines.push('the API server answers again');
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
    this.#write(lines, elapsedMs);
  }

  showFailure(reason: string, elapsedMs: number): void {
    if (reason === this.#failure) return;
    this.#failure = reason;
    this.#write([`${reason} Trying again.`], elapsedMs);
  }

  end(): void {
    // All lines stay.
  }

  #write(lines: readonly string[], elapsedMs: number): void {
    const more = lines.length - MAX_CHANGES;
    const written =
      more > 0 ? [...lines.slice(0, MAX_CHANGES - 1), `and ${more} more changes`, ...lines.slice(-1)] : lines;
    for (const line of written) this.#stream.write(`${formatDuration(elapsedMs).padStart(7)}  ${line}\n`);
  }
}

class ScreenProgress implements Progress {
  readonly #stream: ProgressStream;
  readonly #format: TextFormat;
  readonly #timeoutMs: number;
  readonly #startedAt = performance.now();
  readonly #timer: NodeJS.Timeout;
  #report: CheckReport | undefined;
  #failure: string | undefined;
  #drawnLines = 0;

  constructor(stream: ProgressStream, format: TextFormat, timeoutMs: number) {
    this.#stream = stream;
    this.#format = format;
    this.#timeoutMs = timeoutMs;
    this.#draw();
    this.#timer = setInterval(() => {
      this.#draw();
    }, REDRAW_INTERVAL_MS).unref();
  }

  showReport(report: CheckReport): void {
    this.#report = report;
    this.#failure = undefined;
    this.#draw();
  }

  showFailure(reason: string): void {
    this.#failure = reason;
    this.#draw();
  }

  end(): void {
    clearInterval(this.#timer);
    this.#stream.write(this.#eraseSequence());
    this.#drawnLines = 0;
  }

  #draw(): void {
    const width = (this.#stream.columns ?? this.#format.width) - 1;
    const time = `${formatDuration(performance.now() - this.#startedAt)} of ${formatDuration(this.#timeoutMs)}`;
    const state = this.#report === undefined ? 'asking the API server' : formatCounts(this.#report);
    const lines = [applyStyle(this.#format, 'bold', truncate(`Waiting, ${time}: ${state}`, width))];
    // All lines must fit. If the terminal scrolls, the next redraw erases the wrong lines.
    const maxItems = Math.max(1, (this.#stream.rows ?? DEFAULT_ROWS) - (this.#failure === undefined ? 2 : 3));
    const pending = this.#report === undefined ? [] : [...findPending(this.#report)];
    const items = pending.map(([subject, problem]) => `${subject}: ${problem}`);
    const more = items.length - maxItems + 1;
    if (more > 1) items.splice(maxItems - 1, more, `and ${more} more`);
    lines.push(...items.map((item) => truncate(`  ${item}`, width)));
    if (this.#failure !== undefined) {
      lines.push(applyStyle(this.#format, 'yellow', truncate(`  ${this.#failure} Trying again.`, width)));
    }
    this.#stream.write(`${this.#eraseSequence()}${lines.join('\n')}\n`);
    this.#drawnLines = lines.length;
  }

  /** Moves the cursor to the first drawn line and clears everything after it. */
  #eraseSequence(): string {
    return this.#drawnLines === 0 ? '' : `\u001B[${this.#drawnLines}A\r\u001B[J`;
  }
}

/** The problems of each object that is not fine, in the order of the report. */
function findPending({ problems, pendingCertificateRequests: { requests } }: CheckReport): Map<string, string> {
  const pending = new Map<string, string>();
  for (const { kind, name, message } of problems) {
    const subject = kind === null ? 'selection' : `${kind === 'Node' ? 'node' : 'pool'} ${name}`;
    const problem = kind === null ? message : message.slice(subject.length + ': '.length);
    const earlier = pending.get(subject);
    pending.set(subject, toPrintableLine(earlier === undefined ? problem : `${earlier}, ${problem}`, MAX_LINE_LENGTH));
  }
  if (requests.length > 0) {
    const names = requests.map(({ name, node }) => (node === null ? name : `${name} of ${node}`));
    const text = `${requests.length} pending (${names.join(', ')})`;
    pending.set('certificate requests', toPrintableLine(text, MAX_LINE_LENGTH));
  }
  return pending;
}

/** `3 of 5 nodes and 1 of 2 pools fine`. */
function formatCounts({ nodes, pools }: CheckReport): string {
  return `${formatCount(nodes, 'node')} and ${formatCount(pools, 'pool')} fine`;
}

function formatCount(objects: readonly { readonly ok: boolean }[], noun: string): string {
  return `${objects.filter(({ ok }) => ok).length} of ${countNoun(objects.length, noun)}`;
}
