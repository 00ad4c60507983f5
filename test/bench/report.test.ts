import { expect, test } from 'vitest';

import { asMarkdown } from './report.ts';

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
