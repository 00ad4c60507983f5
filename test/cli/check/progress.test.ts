import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createProgress, type ProgressStream } from '../../../src/cli/check/progress.ts';
import type { CheckReport } from '../../../src/inspect/check-report.ts';
import { inspectedNode, inspectedPool } from '../../policy/inspected.ts';
import { checkNodesAndPools, WORKER } from './reports.ts';

const FORMAT = { width: 80, hasColors: false };
const HALF_HOUR = 30 * 60_000;
const POOL = inspectedPool('worker', { spec: WORKER, status: WORKER });
const DONE = { current: WORKER, desired: WORKER };

function reportOn(nodes: Readonly<Record<string, { current?: string; desired?: string }>>): CheckReport {
  const inspected = Object.entries(nodes).map(([name, configs]) => inspectedNode(name, configs));
  return checkNodesAndPools(inspected, [POOL]).report;
}

describe('in a pipe', () => {
  let text: string;
  const pipe: ProgressStream = { isTTY: false, write: (more) => void (text += more) };

  beforeEach(() => {
    text = '';
  });

  test('writes one line per change with the elapsed time', () => {
    const progress = createProgress(pipe, FORMAT, HALF_HOUR);
    progress.showReport(reportOn({ a: {}, b: {}, c: DONE }), 400);
    progress.showReport(reportOn({ a: {}, b: {}, c: DONE }), 2_500);
    progress.showReport(reportOn({ a: { current: WORKER }, b: DONE, c: DONE }), 4_900);
    progress.showFailure('the API server is away.', 65_000);
    progress.showFailure('the API server is away.', 67_000);
    progress.showReport(reportOn({ a: DONE, b: DONE, c: DONE }), 130_000);
    progress.end();
    expect(text).toBe(
      [
        '     0s  waiting up to 30m00s: 1 of 3 nodes and 1 of 1 pool fine',
        '     0s  node a: has not reported a configuration yet',
        '     0s  node b: has not reported a configuration yet',
        '     4s  node a: has not reported its desiredConfig yet',
        '     4s  node b: fine',
        '     4s  2 of 3 nodes and 1 of 1 pool fine',
        '  1m05s  the API server is away. Trying again.',
        '  2m10s  the API server answers again',
        '  2m10s  node a: fine',
        '',
      ].join('\n'),
    );
  });

  test('summarizes more than twenty changes', () => {
    const nodes = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`n${index}`, {}]));
    createProgress(pipe, FORMAT, HALF_HOUR).showReport(reportOn(nodes), 0);
    const lines = text.trimEnd().split('\n');
    expect(lines).toHaveLength(21);
    expect(lines.at(-2)).toBe('     0s  and 981 more changes');
    expect(lines[0]).toContain('0 of 1000 nodes');
  });

  test('writes nothing if the first report is fine', () => {
    createProgress(pipe, FORMAT, HALF_HOUR).showReport(reportOn({ a: DONE }), 0);
    expect(text).toBe('');
  });
});

describe('on a terminal', () => {
  /** Interprets the escape sequences that progress uses. */
  class Screen implements ProgressStream {
    readonly isTTY = true;
    readonly columns: number;
    readonly rows: number;
    /** The number of lines that scrolled out of sight. They can never be redrawn. */
    scrolledLines = 0;
    /** The length of the longest line. A line as wide as the terminal would break into two. */
    maxLength = 0;
    lines = [''];

    constructor(columns: number, rows: number) {
      this.columns = columns;
      this.rows = rows;
    }

    write(text: string): void {
      for (const [token] of text.matchAll(/\p{Cc}\[(?:\d+A|J)|\r|\n|\P{Cc}+/gu)) {
        const linesUp = /\[(?<count>\d+)A/.exec(token)?.groups?.['count'];
        if (linesUp !== undefined) this.lines.length = Math.max(1, this.lines.length - Number(linesUp));
        else if (token === '\n') this.lines.push('');
        else if (token === '\u001B[J') this.lines[this.lines.length - 1] = '';
        else if (token !== '\r') this.lines[this.lines.length - 1] += token;
      }
      this.scrolledLines = Math.max(this.scrolledLines, this.lines.length - this.rows);
      this.maxLength = Math.max(this.maxLength, ...this.lines.map((line) => line.length));
    }
  }

  beforeEach(() => {
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  test('redraws the time and the pending objects, and removes them at the end', () => {
    const screen = new Screen(80, 24);
    const progress = createProgress(screen, FORMAT, HALF_HOUR);
    expect(screen.lines).toEqual(['Waiting, 0s of 30m00s: asking the API server', '']);
    progress.showReport(reportOn({ a: {}, b: {} }), 0);
    expect(screen.lines).toEqual([
      'Waiting, 0s of 30m00s: 0 of 2 nodes and 1 of 1 pool fine',
      '  node a: has not reported a configuration yet',
      '  node b: has not reported a configuration yet',
      '',
    ]);
    vi.advanceTimersByTime(65_000);
    progress.showReport(reportOn({ a: {}, b: DONE }), 65_000);
    expect(screen.lines).toEqual([
      'Waiting, 1m05s of 30m00s: 1 of 2 nodes and 1 of 1 pool fine',
      '  node a: has not reported a configuration yet',
      '',
    ]);
    progress.showFailure('the API server is away.', 66_000);
    expect(screen.lines.at(-2)).toBe('  the API server is away. Trying again.');
    progress.end();
    progress.end();
    vi.advanceTimersByTime(10_000);
    expect(screen.lines).toEqual(['']);
  });

  test('cuts lines and items that do not fit the terminal', () => {
    const screen = new Screen(40, 10);
    const progress = createProgress(screen, FORMAT, HALF_HOUR);
    const nodes = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`${'long-'.repeat(9)}${index}`, {}]));
    progress.showReport(reportOn(nodes), 0);
    progress.showFailure('the API server is away for a reason that takes more than one line.', 0);
    expect(screen.scrolledLines).toBe(0);
    expect(screen.maxLength).toBeLessThan(40);
    expect(screen.lines.some((line) => /and \d+ more/.test(line))).toBe(true);
    progress.end();
    expect(screen.lines).toEqual(['']);
  });
});
