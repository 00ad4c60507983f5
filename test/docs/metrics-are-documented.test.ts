import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { Metrics } from '../../src/webhook/metrics.ts';

const PAGE = path.join(import.meta.dirname, '..', '..', 'docs', 'metrics.md');

function byName(a: { name: string }, b: { name: string }): number {
  return a.name.localeCompare(b.name);
}

test('docs/metrics.md has every metric with its type and its labels, and no other', async () => {
  const metrics = new Metrics({
    resources: ['nodes'],
    unsynced: () => [],
    ages: () => [{ resource: 'nodes', ms: 1 }],
    referrers: () => [],
    liveReads: () => 1,
    mode: () => 'Enforce',
    danglingCount: () => 0,
    protectedConfigs: () => 0,
    expiries: () => [{ certificate: 'serving', notAfter: new Date(0), isRenewedHere: true }],
  });
  metrics.count({
    uid: '',
    name: '',
    user: '',
    dryRun: false,
    path: 'live',
    ms: 1,
    verdict: {
      outcome: 'allowed',
      code: 'MCG_NOT_IN_USE',
      config: undefined,
      message: '',
      references: [],
      referencesTotal: 0,
      warnings: [],
    },
  });
  const { text } = await metrics.scrape();
  const exported = [...text.matchAll(/^# TYPE (?<name>\S+) (?<type>\S+)$/gm)].map(({ groups }) => {
    const { name: base = '', type = '' } = groups ?? {};
    // OpenMetrics leaves the ending of a counter's samples out of its name.
    const name = type === 'counter' ? `${base}_total` : base;
    const samples = [...text.matchAll(new RegExp(`^${name}(?:_bucket)?\\{(?<labels>[^}]*)\\}`, 'gm'))];
    const labels = samples.flatMap(({ groups: found }) =>
      (found?.['labels'] ?? '').split(',').map((pair) => pair.split('=')[0] ?? ''),
    );
    return { name, type, labels: [...new Set(labels)].filter((label) => label !== 'le').sort() };
  });
  const rows = readFileSync(PAGE, 'utf8').matchAll(/^\| `(?<name>\w+)` \| (?<type>\w+) \| (?<labels>[^|]*)\|/gm);
  const documented = [...rows].map(({ groups }) => ({
    name: groups?.['name'] ?? '',
    type: groups?.['type'] ?? '',
    labels: [...(groups?.['labels'] ?? '').matchAll(/`(?<label>\w+)`/g)]
      .map(({ groups: found }) => found?.['label'] ?? '')
      .sort(),
  }));
  expect(documented.sort(byName)).toEqual(exported.sort(byName));
});
