import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createProgress, type ProgressStream } from '../../../src/cli/check/progress.ts';
import type { CheckReport } from '../../../src/inspect/check-report.ts';
import { inspectedNode, inspectedPool } from '../../inspect/snapshot.ts';
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
  let writes: string[];

  beforeEach(() => {
    vi.useFakeTimers();
    writes = [];
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  function createScreen(columns: number, rows: number): ProgressStream {
    return { isTTY: true, columns, rows, write: (text) => void writes.push(text) };
  }

  /** The number of lines that each write erases, and the number of lines that the write before it left. */
  function countLines(): { readonly erased: readonly number[]; readonly left: readonly number[] } {
    const erased = writes.map((text) => Number(/^.\[(?<count>\d+)A\r.\[J/s.exec(text)?.groups?.['count'] ?? 0));
    return { erased, left: [0, ...writes.slice(0, -1).map((text) => text.split('\n').length - 1)] };
  }

  /** The lines on the screen. */
  function visibleLines(): string[] {
    return (writes.at(-1) ?? '')
      .replace(/^.*\[J/s, '')
      .trimEnd()
      .split('\n');
  }

  test('redraws the time and the pending objects, and removes them at the end', () => {
    const progress = createProgress(createScreen(80, 24), FORMAT, HALF_HOUR);
    expect(visibleLines()).toEqual(['Waiting, 0s of 30m00s: asking the API server']);
    progress.showReport(reportOn({ a: {}, b: {} }), 0);
    expect(visibleLines()).toEqual([
      'Waiting, 0s of 30m00s: 0 of 2 nodes and 1 of 1 pool fine',
      '  node a: has not reported a configuration yet',
      '  node b: has not reported a configuration yet',
    ]);
    vi.advanceTimersByTime(65_000);
    progress.showReport(reportOn({ a: {}, b: DONE }), 65_000);
    expect(visibleLines()).toEqual([
      'Waiting, 1m05s of 30m00s: 1 of 2 nodes and 1 of 1 pool fine',
      '  node a: has not reported a configuration yet',
    ]);
    progress.showFailure('the API server is away.', 66_000);
    expect(visibleLines().at(-1)).toBe('  the API server is away. Trying again.');
    progress.end();
    vi.advanceTimersByTime(10_000);
    expect(visibleLines()).toEqual(['']);
    expect(countLines().erased).toEqual(countLines().left);
  });

  test('cuts lines and items that do not fit the terminal', () => {
    const progress = createProgress(createScreen(40, 10), FORMAT, HALF_HOUR);
    const nodes = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`${'long-'.repeat(9)}${index}`, {}]));
    progress.showReport(reportOn(nodes), 0);
    progress.showFailure('the API server is away for a reason that takes more than one line.', 0);
    // The cursor is in the line after the last one.
    expect(visibleLines().length).toBeLessThan(10);
    expect(Math.max(...visibleLines().map((line) => line.length))).toBeLessThan(40);
    expect(visibleLines().some((line) => /and \d+ more/.test(line))).toBe(true);
    progress.end();
    expect(countLines().erased).toEqual(countLines().left);
  });
});
