import { expect, test } from 'vitest';
import { type Referrer, toConfigName } from '../../src/decision/references.ts';
import { NODES, POOLS } from '../../src/references/sources.ts';
import { Metrics } from '../../src/status/metrics.ts';
import { parseReview } from '../../src/webhook/admission-review.ts';
import { allowUnused, CALL, reviewBody } from '../support/review.ts';

const config = toConfigName('rendered-worker-1');
const NODE: Referrer = {
  kind: 'Node',
  name: 'w0',
  state: { type: 'configured' },
  references: [
    { field: 'currentConfig', config, strength: 'strong' },
    { field: 'desiredConfig', config, strength: 'strong' },
    { field: 'desiredDrain', config, strength: 'weak' },
  ],
};

const PAUSED: Referrer = {
  kind: 'MachineConfigPool',
  name: 'worker',
  references: [],
  pausedForRestore: { config, since: undefined },
};

test('counts decisions and reads its sources at each scrape', async () => {
  const live = { readCount: 3 };
  const nodes = { resource: NODES, silentMs: 1_500 };
  const pools = { resource: POOLS, silentMs: undefined };
  let danglingCount: number | undefined = 2;
  const metrics = new Metrics({
    index: { reflectors: [nodes, pools], referrers: () => [NODE, PAUSED].values() as Generator<Referrer> },
    live,
    mode: () => 'Audit',
    reporter: () => ({ danglingCount, protectedConfigs: 5 }),
    certificate: {
      expiries: () => [{ certificate: 'authority', notAfter: new Date(1_800_000_000_000), isRenewedByGuard: false }],
    },
  });
  for (const dryRun of [false, false, true]) {
    const review = parseReview(Buffer.from(JSON.stringify(reviewBody({ dryRun }))));
    const judged = await allowUnused(review, new AbortController().signal);
    metrics.countAnswer(judged, CALL);
    if (dryRun) metrics.countAnswer({ ...judged, configState: 'missing' }, { ...CALL, hasAuthorization: true });
  }
  metrics.countTaskFailure('write the status');
  const { text, contentType } = await metrics.scrape();
  expect(contentType).toMatch(/^application\/openmetrics-text; version=1\.0\.0/);
  expect(text).toMatch(/# EOF\n$/);
  expect(text.split('\n')).toEqual(
    expect.arrayContaining([
      '# TYPE mcguard_decisions counter',
      'mcguard_decisions_total{verdict="allowed",code="MCG_NOT_IN_USE",dry_run="false"} 2',
      'mcguard_decisions_total{verdict="allowed",code="MCG_NOT_IN_USE",dry_run="true"} 1',
      'mcguard_decisions_total{verdict="denied",code="MCG_UNVERIFIED",dry_run="false"} 0',
      'mcguard_decision_duration_seconds_bucket{le="0.025",path="live"} 3',
      'mcguard_index_age_seconds{resource="nodes"} 1.5',
      'mcguard_references{kind="Node"} 2',
      'mcguard_missing_config_reviews_total 1',
      'mcguard_task_failures_total{task="write the status"} 1',
      'mcguard_webhook_calls_total{authorization="false"} 3',
      'mcguard_webhook_calls_total{authorization="true"} 1',
      'mcguard_live_reads_total 3',
      'mcguard_mode{mode="Audit"} 1',
      'mcguard_dangling_references 2',
      'mcguard_stalled_restores 1',
      'mcguard_protected_configs 5',
      'mcguard_certificate_expiry_timestamp_seconds{certificate="authority"} 1800000000',
      expect.stringMatching(/^mcguard_build_info\{version="\d+\.\d+\.\d+"\} 1$/),
    ]),
  );
  live.readCount = 4;
  danglingCount = undefined;
  const later = (await metrics.scrape()).text;
  expect(later).toContain('mcguard_live_reads_total 4\n');
  expect(later).not.toMatch(/^mcguard_dangling_references /m);
});
