import { expect, test } from 'vitest';
import { denyBadReview } from '../../src/decision/decide.ts';
import { NODES } from '../../src/references/sources.ts';
import { Metrics } from '../../src/status/metrics.ts';
import { CALL } from '../support/review.ts';
import { readTableRows } from './pages.ts';

test('docs/monitoring.md lists every metric with its type and labels', async () => {
  const metrics = new Metrics({
    index: { reflectors: [{ resource: NODES, silentMs: 1 }], referrers: function* () {} },
    live: { readCount: 1 },
    mode: () => 'Enforce',
    reporter: () => ({ danglingCount: 0, protectedConfigs: 0 }),
    certificate: {
      expiries: () => [{ certificate: 'serving', notAfter: new Date(0), isRenewedByGuard: true }],
    },
  });
  metrics.countTaskFailure('x');
  const verdict = denyBadReview('');
  const review = { uid: '', user: '', isDryRun: false, config: undefined };
  metrics.countAnswer({ review, path: 'live', configState: 'exists', verdict }, CALL);
  const { text } = await metrics.scrape();
  const exported = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, base = '', type = '']) => {
    // OpenMetrics names a counter without the suffix of its samples.
    const name = type === 'counter' ? `${base}_total` : base;
    const samples = text.match(new RegExp(`^${name}(?:_bucket)?\\{.*`, 'gm')) ?? [];
    const labels = new Set(samples.flatMap((sample) => sample.match(/\w+(?==")/g) ?? []));
    return `${name} (${type}): ${[...labels].filter((label) => label !== 'le').join(', ')}`;
  });
  const rows = readTableRows('docs/monitoring.md').filter(([name]) => name?.startsWith('`'));
  const documented = rows.map(([name, type, labels]) => `${name} (${type}): ${labels}`.replaceAll('`', ''));
  expect(documented.toSorted()).toEqual(exported.toSorted());
});
