import { describe, expect, test } from 'vitest';

import type { Table } from './bench.ts';
import { asMarkdown, charts } from './report.ts';

test('a report says where its figures come from, and shows them as a table', () => {
  const markdown = asMarkdown({
    bench: 'floor',
    question: 'What does it cost?',
    command: 'npm run bench -- --only floor',
    environment: {
      date: '2026-11-21T03:00:00.000Z',
      commit: '0123456789ab+',
      kubernetes: '1.33.0',
      node: '20.20.2',
      cpu: 'Some CPU',
      cores: 2,
      memoryGiB: 24,
      load: 0.3,
    },
    seconds: 61.4,
    tables: [
      {
        title: 'Milliseconds',
        columns: [
          { key: 'who', heading: 'who' },
          { key: 'p50', heading: 'p50', digits: 1 },
          { key: 'rounds', heading: 'rounds' },
        ],
        rows: [
          { who: 'a | b', p50: 1.26, rounds: 10_000 },
          { who: 'c', p50: null, rounds: 0 },
        ],
        notes: ['Less is better.'],
      },
    ],
  });

  expect(markdown).toBe(`# floor

What does it cost?

\`npm run bench -- --only floor\`, 2026-11-21, commit 0123456789ab+: Kubernetes 1.33.0, Node 20.20.2, 2 cores (Some CPU), 24 GiB, load before 0.3; 61 s.

## Milliseconds

| who | p50 | rounds |
|---|---:|---:|
| a \\| b | 1.3 | 10,000 |
| c |  | 0 |

- Less is better.
`);
});

describe('pictures', () => {
  const environment = {
    date: '2026-11-21T03:00:00.000Z',
    commit: '0123456789ab',
    kubernetes: '1.33.0',
    node: '20.20.2',
    cpu: 'Some CPU',
    cores: 2,
    memoryGiB: 24,
    load: 0,
  };
  const drawn: Table = {
    title: 'Milliseconds',
    columns: [
      { key: 'nodes', heading: 'nodes' },
      { key: 'who', heading: 'who' },
      { key: 'p50', heading: 'p50', digits: 1 },
    ],
    rows: [
      { nodes: 5, who: 'guard', p50: 1.5 },
      { nodes: 2_000, who: 'guard', p50: 7 },
    ],
    notes: [],
    bars: { groups: ['nodes'], label: 'who', value: 'p50', axis: 'ms' },
  };
  const plain: Table = { title: 'Others', columns: drawn.columns, rows: drawn.rows, notes: [] };
  const reportOf = (tables: readonly Table[]) => ({
    bench: 'floor',
    question: 'What?',
    command: 'npm run bench',
    environment,
    seconds: 1,
    tables,
  });

  test('a table that says how is drawn, its rows in their groups', () => {
    const [only, ...others] = charts(reportOf([plain, drawn]));
    expect(others).toEqual([]);
    expect(only?.[0]).toBe('floor.svg');
    expect(only?.[1]).toContain('>5 nodes<');
    expect(only?.[1]).toContain('>2,000 nodes<');
    expect(only?.[1]).toContain('>7<');
  });

  test('the Markdown shows it, each of several by its own name', () => {
    expect(asMarkdown(reportOf([plain, drawn]))).toContain('![Milliseconds](floor.svg)');
    const two = reportOf([drawn, { ...drawn, title: 'Again' }]);
    expect(charts(two).map(([file]) => file)).toEqual(['floor-1.svg', 'floor-2.svg']);
    expect(asMarkdown(two)).toContain('![Again](floor-2.svg)');
  });
});
