import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type ProgressStream, createProgress } from '../../src/cli/check/progress.ts';
import { inspectedNode, inspectedPool } from '../policy/inspected.ts';
import { checked, WORKER } from './reports.ts';

const PLAIN = { width: 80, colours: false };
const HALF_HOUR = 30 * 60_000;
const POOL = inspectedPool('worker', { spec: WORKER, status: WORKER });
const DONE = { current: WORKER, desired: WORKER };

/** A cluster of such nodes. */
function cluster(nodes: Readonly<Record<string, Parameters<typeof inspectedNode>[1]>>) {
  return checked(
    Object.entries(nodes).map(([name, configs]) => inspectedNode(name, configs)),
    [POOL],
  ).report;
}

function pipe(): ProgressStream & { text: () => string } {
  let text = '';
  return { isTTY: false, write: (more) => void (text += more), text: () => text };
}

describe('in a pipe', () => {
  test('one line a change, with the time since the beginning', () => {
    const stream = pipe();
    const progress = createProgress(stream, PLAIN, HALF_HOUR);
    progress.showReport(cluster({ a: {}, b: {}, c: DONE }), 400);
    progress.showReport(cluster({ a: {}, b: {}, c: DONE }), 2_500);
    progress.showReport(cluster({ a: { current: WORKER }, b: DONE, c: DONE }), 4_900);
    progress.showFailure('the API server is away.', 65_000);
    progress.showFailure('the API server is away.', 67_000);
    progress.showReport(cluster({ a: DONE, b: DONE, c: DONE }), 130_000);
    progress.end();
    expect(stream.text()).toBe(
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

  test('a thousand changes at once are twenty lines', () => {
    const stream = pipe();
    const nodes = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`n${index}`, {}]));
    createProgress(stream, PLAIN, HALF_HOUR).showReport(cluster(nodes), 0);
    const lines = stream.text().trimEnd().split('\n');
    expect(lines).toHaveLength(21);
    expect(lines.at(-2)).toBe('     0s  and 981 more changes');
    expect(lines[0]).toContain('0 of 1000 nodes');
  });

  test('fine at once needs no word', () => {
    const stream = pipe();
    createProgress(stream, PLAIN, HALF_HOUR).showReport(cluster({ a: DONE }), 0);
    expect(stream.text()).toBe('');
  });
});

describe('on a terminal', () => {
  /** What a terminal of this size shows, as far as progress uses it. */
  class Screen implements ProgressStream {
    readonly isTTY = true;
    readonly columns: number;
    readonly rows: number;
    /** Lines that have scrolled out at the top: they can never be redrawn. */
    scrolled = 0;
    /** The longest line so far. One as wide as the terminal would break into two. */
    widest = 0;
    #lines: string[] = [''];

    constructor(columns: number, rows: number) {
      this.columns = columns;
      this.rows = rows;
    }

    write(text: string): void {
      for (const [token] of text.matchAll(/\p{Cc}\[(?:\d+A|J)|\r|\n|\P{Cc}+/gu)) {
        const up = /\[(?<count>\d+)A/.exec(token)?.groups?.['count'];
        if (up !== undefined) this.#lines.length = Math.max(1, this.#lines.length - Number(up));
        else if (token === '\n') this.#lines.push('');
        else if (token === '\u001B[J') this.#lines[this.#lines.length - 1] = '';
        else if (token !== '\r') this.#lines[this.#lines.length - 1] += token;
      }
      this.scrolled = Math.max(this.scrolled, this.#lines.length - this.rows);
      this.widest = Math.max(this.widest, ...this.#lines.map((line) => line.length));
    }

    get lines(): readonly string[] {
      return this.#lines;
    }
  }

  beforeEach(() => {
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  test('the time runs, what is waited for is redrawn, and at the end nothing of it is left', () => {
    const screen = new Screen(80, 24);
    const progress = createProgress(screen, PLAIN, HALF_HOUR);
    expect(screen.lines).toEqual(['Waiting, 0s of 30m00s: asking the API server', '']);
    progress.showReport(cluster({ a: {}, b: {} }), 0);
    expect(screen.lines).toEqual([
      'Waiting, 0s of 30m00s: 0 of 2 nodes and 1 of 1 pool fine',
      '  node a: has not reported a configuration yet',
      '  node b: has not reported a configuration yet',
      '',
    ]);
    vi.advanceTimersByTime(65_000);
    progress.showReport(cluster({ a: {}, b: DONE }), 65_000);
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

  test('more than the terminal has room for is cut, or redrawing would meet the wrong lines', () => {
    const screen = new Screen(40, 10);
    const progress = createProgress(screen, PLAIN, HALF_HOUR);
    const nodes = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`${'long-'.repeat(9)}${index}`, {}]));
    progress.showReport(cluster(nodes), 0);
    progress.showFailure('the API server is away for a reason that takes more than one line to tell.', 0);
    expect(screen.scrolled).toBe(0);
    expect(screen.widest).toBeLessThan(40);
    expect(screen.lines.some((line) => /and \d+ more/.test(line))).toBe(true);
    progress.end();
    expect(screen.lines).toEqual(['']);
  });
});
