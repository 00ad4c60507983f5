import { countNoun, toPrintableLine } from '../../decision/printable-text.ts';
import type { CheckReport } from '../../inspect/check-report.ts';
import { formatElapsed } from '../elapsed.ts';
import { type OutputStream, type Page, applyStyle } from '../page.ts';
import { truncate } from '../table.ts';

/** Tells somebody who waits how it goes. Every time is milliseconds since the wait began. */
export interface Progress {
  /** The cluster has answered. */
  showReport(report: CheckReport, atMs: number): void;
  /** The cluster has not answered; the sentence says why. */
  showFailure(sentence: string, atMs: number): void;
  /** The wait is over: whatever is on the screen for the moment only goes away. */
  end(): void;
}

/** Where progress is written. */
export interface ProgressStream extends OutputStream {
  readonly rows?: number;
  write(text: string): void;
}

/** More changes than this between two looks tell a person nothing. */
const CHANGES_MAX = 20;
const REDRAW_MS = 1_000;
/** Rows of a terminal that does not say how many it has. */
const ROWS = 24;
const LINE_MAX = 400;

/** Redrawn lines on a terminal, else one line a change. */
export function createProgress(stream: ProgressStream, page: Page, timeoutMs: number): Progress {
  return stream.isTTY === true ? new ScreenProgress(stream, page, timeoutMs) : new LineProgress(stream, timeoutMs);
}

/** For logs: who has come to wait for what, who has come right, and when. */
class LineProgress implements Progress {
  readonly #stream: ProgressStream;
  readonly #timeoutMs: number;
  #before: ReadonlyMap<string, string> | undefined;
  #failure: string | undefined;

  constructor(stream: ProgressStream, timeoutMs: number) {
    this.#stream = stream;
    this.#timeoutMs = timeoutMs;
  }

  showReport(report: CheckReport, atMs: number): void {
    const now = waitingFor(report);
    const lines: string[] = [];
    if (this.#failure !== undefined) lines.push('the API server answers again');
    this.#failure = undefined;
    const before = this.#before;
    for (const [subject, what] of now) if (before?.get(subject) !== what) lines.push(`${subject}: ${what}`);
    for (const subject of before?.keys() ?? []) if (!now.has(subject)) lines.push(`${subject}: fine`);
    if (before === undefined && !report.ok)
      lines.unshift(`waiting up to ${formatElapsed(this.#timeoutMs)}: ${counts(report)}`);
    else if (lines.length > 0 && !report.ok) lines.push(counts(report));
    this.#before = now;
    this.#say(lines, atMs);
  }

  showFailure(sentence: string, atMs: number): void {
    if (sentence === this.#failure) return;
    this.#failure = sentence;
    this.#say([`${sentence} Trying again.`], atMs);
  }

  end(): void {
    // Every line stays.
  }

  #say(lines: readonly string[], atMs: number): void {
    const rest = lines.length - CHANGES_MAX;
    const shown =
      rest <= 0 ? lines : [...lines.slice(0, CHANGES_MAX - 1), `and ${rest} more changes`, ...lines.slice(-1)];
    for (const line of shown) this.#stream.write(`${formatElapsed(atMs).padStart(7)}  ${line}\n`);
  }
}

/** For a person at a terminal: what is waited for at this moment, with the time running. */
class ScreenProgress implements Progress {
  readonly #stream: ProgressStream;
  readonly #page: Page;
  readonly #timeoutMs: number;
  readonly #begun = performance.now();
  readonly #timer: NodeJS.Timeout;
  #report: CheckReport | undefined;
  #failure: string | undefined;
  #drawn = 0;

  constructor(stream: ProgressStream, page: Page, timeoutMs: number) {
    this.#stream = stream;
    this.#page = page;
    this.#timeoutMs = timeoutMs;
    this.#draw();
    this.#timer = setInterval(() => {
      this.#draw();
    }, REDRAW_MS);
    this.#timer.unref();
  }

  showReport(report: CheckReport): void {
    this.#report = report;
    this.#failure = undefined;
    this.#draw();
  }

  showFailure(sentence: string): void {
    this.#failure = sentence;
    this.#draw();
  }

  end(): void {
    clearInterval(this.#timer);
    this.#stream.write(this.#up());
    this.#drawn = 0;
  }

  #draw(): void {
    const columns = this.#stream.columns ?? this.#page.width;
    const time = `${formatElapsed(performance.now() - this.#begun)} of ${formatElapsed(this.#timeoutMs)}`;
    const state = this.#report === undefined ? 'asking the API server' : counts(this.#report);
    const items = [...(this.#report === undefined ? [] : waitingFor(this.#report))].map(
      ([subject, what]) => `${subject}: ${what}`,
    );
    // What is drawn must fit, or the terminal scrolls and the next redraw meets the wrong lines.
    const room = Math.max(1, (this.#stream.rows ?? ROWS) - (this.#failure === undefined ? 2 : 3));
    const shown = items.length <= room ? items : [...items.slice(0, room - 1), `and ${items.length - room + 1} more`];
    const lines = [
      applyStyle(this.#page, 'bold', truncate(`Waiting, ${time}: ${state}`, columns - 1)),
      ...shown.map((line) => truncate(`  ${line}`, columns - 1)),
    ];
    if (this.#failure !== undefined) {
      lines.push(applyStyle(this.#page, 'yellow', truncate(`  ${this.#failure} Trying again.`, columns - 1)));
    }
    this.#stream.write(`${this.#up()}${lines.join('\n')}\n`);
    this.#drawn = lines.length;
  }

  /** Back to the first of the drawn lines, and everything from there on cleared. */
  #up(): string {
    return this.#drawn === 0 ? '' : `\u001B[${this.#drawn}A\r\u001B[J`;
  }
}

/** What each node and pool that is not fine waits for, in the order of the report. */
function waitingFor({ problems, pendingCertificateRequests: { requests } }: CheckReport): Map<string, string> {
  const waiting = new Map<string, string>();
  for (const { kind, name, message } of problems) {
    const subject = kind === null ? 'selection' : `${kind === 'Node' ? 'node' : 'pool'} ${name}`;
    const what = kind === null ? message : message.slice(subject.length + ': '.length);
    const before = waiting.get(subject);
    waiting.set(subject, toPrintableLine(before === undefined ? what : `${before}, ${what}`, LINE_MAX));
  }
  if (requests.length > 0) {
    const names = requests.map(({ name, node }) => (node === null ? name : `${name} of ${node}`));
    waiting.set('certificate requests', toPrintableLine(`${requests.length} pending (${names.join(', ')})`, LINE_MAX));
  }
  return waiting;
}

/** `3 of 5 nodes and 1 of 2 pools fine`. */
function counts({ nodes, pools }: CheckReport): string {
  return `${fineOf(nodes, 'node')} and ${fineOf(pools, 'pool')} fine`;
}

function fineOf(all: readonly { readonly ok: boolean }[], noun: string): string {
  return `${all.filter(({ ok }) => ok).length} of ${countNoun(all.length, noun)}`;
}
