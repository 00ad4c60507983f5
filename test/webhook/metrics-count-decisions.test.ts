import { expect, test } from 'vitest';
import { DEFAULT_SETTINGS } from '../../src/decision/settings.ts';
import { decide } from '../../src/decision/decide.ts';
import { parseNodeReferrer } from '../../src/references/parse-referrer.ts';
import { parseReview } from '../../src/webhook/parse-review.ts';
import { toDecision } from '../../src/webhook/decision.ts';
import { Metrics } from '../../src/webhook/metrics.ts';
import { reviewBody } from '../support/review.ts';

function withoutMemory(scraped: string): string {
  return scraped.replace(/^process_resident_memory_bytes \d+$/m, '');
}

test('decisions by verdict, code and dry run; durations by path; the state of the index', async () => {
  let unsynced = ['nodes'];
  let reads = 3;
  const metrics = new Metrics({
    resources: ['nodes', 'machineconfigpools'],
    unsynced: () => unsynced,
    ages: () => [{ resource: 'nodes', ms: 1_500 }],
    referrers: () => [
      parseNodeReferrer({
        metadata: {
          name: 'w0',
          annotations: {
            'machineconfiguration.openshift.io/currentConfig': 'rendered-worker-1',
            'machineconfiguration.openshift.io/desiredConfig': 'rendered-worker-2',
            'machineconfiguration.openshift.io/desiredDrain': 'drain-rendered-worker-3',
          },
        },
      }),
    ],
    liveReads: () => reads,
    mode: () => 'Audit',
    dangling: () => 2,
    protectedConfigs: () => 5,
    expiries: () => [{ certificate: 'authority', notAfter: new Date(1_800_000_000_000), isRenewedHere: false }],
  });
  for (const dryRun of [false, false, true]) {
    const review = parseReview(Buffer.from(JSON.stringify(reviewBody({ dryRun }))));
    const verdict = decide(review, { referrers: [], unreadable: [] }, DEFAULT_SETTINGS, new Date());
    metrics.count(toDecision(review, verdict, 'live', 12));
  }
  const { text } = await metrics.scrape();
  expect(text).toContain('mcguard_decisions_total{verdict="allowed",code="MCG_NOT_IN_USE",dry_run="false"} 2\n');
  expect(text).toContain('mcguard_decisions_total{verdict="allowed",code="MCG_NOT_IN_USE",dry_run="true"} 1\n');
  expect(text).toContain('mcguard_decision_duration_seconds_bucket{le="0.01",path="live"} 0\n');
  expect(text).toContain('mcguard_decision_duration_seconds_bucket{le="0.025",path="live"} 3\n');
  expect(text).toContain('mcguard_index_synced{resource="nodes"} 0\n');
  expect(text).toContain('mcguard_index_synced{resource="machineconfigpools"} 1\n');
  expect(text).toContain('mcguard_index_age_seconds{resource="nodes"} 1.5\n');
  expect(text).toContain('mcguard_references{kind="Node"} 2\n');
  expect(text).toContain('mcguard_references{kind="MachineConfigPool"} 0\n');
  // There from the start, so that the first one is an increase.
  expect(text).toContain('mcguard_decisions_total{verdict="denied",code="MCG_UNVERIFIED",dry_run="false"} 0\n');
  expect(text).toContain('mcguard_live_reads_total 3\n');
  expect(text).toContain('mcguard_mode{mode="Audit"} 1\n');
  expect(text).toContain('mcguard_mode{mode="Enforce"} 0\n');
  expect(text).toContain('mcguard_dangling_references 2\n');
  expect(text).toContain('mcguard_protected_configs 5\n');
  expect(text).toContain('mcguard_certificate_expiry_timestamp_seconds{certificate="authority"} 1800000000\n');
  expect(text).toMatch(/mcguard_build_info\{version="\d+\.\d+\.\d+"\} 1\n/);

  unsynced = [];
  reads = 4;
  const later = (await metrics.scrape()).text;
  expect(later).toContain('mcguard_index_synced{resource="nodes"} 1\n');
  expect(later).toContain('mcguard_live_reads_total 4\n');

  const { text: third, contentType } = await metrics.scrape();
  expect(contentType).toMatch(/^application\/openmetrics-text; version=1\.0\.0/);
  expect(third).toContain('# TYPE mcguard_decisions counter\n');
  expect(third).toMatch(/# EOF\n$/);
  // One scrape does not change the next.
  expect(withoutMemory(third)).toBe(withoutMemory(later));
});
