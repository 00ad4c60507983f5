import { describe, expect, test } from 'vitest';

import { type Bar, barChart } from './bar-chart.ts';
import { lineChart, type LineChart } from './line-chart.ts';
import { scaleOf } from './scale.ts';

/** The texts of a picture, in order. */
function texts(svg: string): readonly string[] {
  return [...svg.matchAll(/<text [^>]*>(?<text>[^<]*)<\/text>/g)].map(({ groups }) => groups?.['text'] ?? '');
}

/** The corners of each line. */
function corners(svg: string): readonly (readonly (readonly number[])[])[] {
  return [...svg.matchAll(/points="(?<points>[^"]*)"/g)].map(({ groups }) =>
    (groups?.['points'] ?? '').split(' ').map((pair) => pair.split(',').map(Number)),
  );
}

function widths(svg: string): readonly number[] {
  return [...svg.matchAll(/width="(?<width>[\d.]+)" height="12" class="bar/g)].map(({ groups }) =>
    Number(groups?.['width']),
  );
}

/** A bar that reaches further, and another twice as long. */
function bars(value: number, reach: number): readonly Bar[] {
  return [
    { label: 'the guard', value, reach },
    { label: 'a peer', value: 2 * value },
  ];
}

describe('scale', () => {
  test.each([
    ['from 0 to the next round number', { label: 'a' }, [3, 97], [0, 20, 40, 60, 80, 100]],
    ['from below 0 where a value is', { label: 'a' }, [-5, 5], [-6, -4, -2, 0, 2, 4, 6]],
    ['at least as far as asked', { label: 'a', to: 10 }, [1], [0, 2, 4, 6, 8, 10]],
    ['from another beginning', { label: 'a', from: 90 }, [91, 99], [90, 92, 94, 96, 98, 100]],
    ['of one value, 0', { label: 'a' }, [0], [0, 1]],
    ['in factors of 10', { label: 'a', log: true }, [2, 30_000], [1, 10, 100, 1_000, 10_000, 100_000]],
    ['in factors of 10, finer where they are few', { label: 'a', log: true }, [20, 90], [10, 20, 50, 100]],
    ['in factors of 10, with room for the smallest', { label: 'a', log: true }, [10], [1, 2, 5, 10]],
  ])('%s', (_title, axis, values, ticks) => {
    const scale = scaleOf(axis, values);
    expect(scale.ticks.map((tick) => Number(tick.toFixed(9)))).toEqual(ticks);
    expect(scale.share(ticks[0] ?? Number.NaN)).toBeCloseTo(0);
    expect(scale.share(ticks.at(-1) ?? Number.NaN)).toBeCloseTo(1);
  });

  test('equal factors are equally far apart on a logarithmic one', () => {
    const { share } = scaleOf({ label: 'a', log: true }, [1, 1_000]);
    expect(share(100) - share(10)).toBeCloseTo(share(1_000) - share(100));
  });

  test.each([
    ['no value', { label: 'delay' }, [], /^delay: nothing/],
    ['not a number', { label: 'delay' }, [1, Number.NaN], /^delay: nothing/],
    ['0 on a logarithmic axis', { label: 'delay', log: true }, [0, 1], /^delay: 0 has no place/],
  ])('refused: %s', (_title, axis, values, message) => {
    expect(() => scaleOf(axis, values)).toThrow(message);
  });
});

describe('line chart', () => {
  const chart: LineChart = {
    title: 'A <leak>',
    x: { label: 'minutes' },
    panels: [
      {
        y: { label: 'memory, MiB' },
        lines: [
          {
            name: 'resident',
            points: [
              [0, 100],
              [5, 50],
              [10, 0],
            ],
          },
          {
            name: 'heap',
            points: [
              [0, 0],
              [10, 100],
            ],
          },
        ],
      },
      {
        y: { label: 'open files' },
        lines: [
          {
            name: 'open',
            points: [
              [0, 7],
              [10, 7],
            ],
          },
        ],
      },
    ],
    shaded: { from: 5, to: 10, why: 'tested' },
  };

  test('says what is drawn, and which line is which where there are several', () => {
    const said = texts(lineChart(chart));
    expect(said).toEqual(expect.arrayContaining(['A &lt;leak&gt;', 'memory, MiB', 'resident', 'heap', 'open files']));
    expect(said).toContain('minutes; shaded: tested');
    expect(said).not.toContain('open');
  });

  test('draws every point where it belongs', () => {
    const [resident, heap, open] = corners(lineChart(chart));
    const [first, middle, last] = resident ?? [];
    expect((first?.[0] ?? 0) + (last?.[0] ?? 0)).toBeCloseTo(2 * (middle?.[0] ?? 0), 0);
    expect((first?.[1] ?? 0) + (last?.[1] ?? 0)).toBeCloseTo(2 * (middle?.[1] ?? 0), 0);
    // The screen's y grows downwards.
    expect(first?.[1]).toBeLessThan(last?.[1] ?? 0);
    expect([heap?.[0]?.[1], heap?.[1]?.[1]]).toEqual([last?.[1], first?.[1]]);
    expect(open?.[0]?.[1]).toBe(open?.[1]?.[1]);
  });

  test('shades what it is asked to', () => {
    const half = /<rect x="(?<x>[\d.]+)" [^>]*width="(?<width>[\d.]+)" [^>]*class="shade"/.exec(lineChart(chart));
    expect(Number(half?.groups?.['x'])).toBeCloseTo(corners(lineChart(chart))[0]?.[1]?.[0] ?? 0, 0);
    const { shaded: _, ...unshaded } = chart;
    expect(lineChart(unshaded)).not.toContain('class="shade"');
  });

  test('is the same text again, and knows light and dark', () => {
    expect(lineChart(chart)).toBe(lineChart(structuredClone(chart)));
    expect(lineChart(chart)).toContain('prefers-color-scheme:dark');
  });
});

describe('bar chart', () => {
  test('bars are as long as their values, and say them', () => {
    const svg = barChart({
      title: 'x',
      x: { label: 'milliseconds' },
      groups: [{ heading: '5 nodes', bars: bars(40, 50) }],
    });
    const [guard = 0, peer = 0] = widths(svg);
    expect(peer).toBeCloseTo(2 * guard, 0);
    expect(texts(svg)).toEqual(expect.arrayContaining(['5 nodes', 'the guard', '40', 'a peer', '80', 'milliseconds']));
    expect(svg.match(/class="whisker"/g)).toHaveLength(1);
  });

  test('on a logarithmic axis equal factors are equal lengths, and it says so', () => {
    const groups = [1, 10, 100].map((value) => ({ heading: String(value), bars: [{ label: 'it', value }] }));
    const svg = barChart({ title: 'x', x: { label: 'milliseconds', log: true }, groups });
    const [first = 0, second = 0, third = 0] = widths(svg);
    expect(first).toBeGreaterThan(0);
    expect(third - second).toBeCloseTo(second - first, 0);
    expect(texts(svg)).toContain('milliseconds (logarithmic)');
  });

  test('a bar has the same colour in every group', () => {
    const groups = [
      { heading: 'a', bars: bars(1, 2) },
      { heading: 'b', bars: bars(3, 4).toReversed() },
    ];
    const svg = barChart({ title: 'x', x: { label: 'ms' }, groups });
    expect([...svg.matchAll(/class="bar(?<series>\d)"/g)].map(({ groups }) => groups?.['series'])).toEqual([
      '0',
      '1',
      '1',
      '0',
    ]);
  });
});
