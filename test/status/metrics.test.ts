import { fakeUntilEnd } from '../support/until-end.ts';
import { memoryLog } from '../support/log.ts';
import { type OpenMetricsContentType, Registry } from 'prom-client';
import { indexOf } from '../support/reference-index.ts';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Referrer } from '../../src/mco/referrer.ts';
import { Metrics } from '../../src/status/metrics.ts';
import { parseReview } from '../../src/review/parse-review.ts';
import { allowUnused, CALL, reviewBody } from '../support/review.ts';
import { toConfigName } from '../../src/mco/machine-config.ts';
import { NODES, POOLS } from '../../src/mco/resources.ts';
import { AnswerRecorder } from '../../src/review/answer-recorder.ts';

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

test('counts decisions and reads its input at each scrape', async () => {
  fakeUntilEnd('performance');
  const live = { readCount: 3 };
  const nodes = { resource: NODES, silentMs: 1_500 };
  const pools = { resource: POOLS, silentMs: undefined };
  const index = indexOf([NODE, PAUSED]);
  let danglingCount: number | undefined = 2;
  const registry = new Registry<OpenMetricsContentType>();
  const answers = new AnswerRecorder({
    log: memoryLog().log,
    events: { record: () => {} },
    registry,
    now: () => new Date(),
  });
  const metrics = new Metrics({
    registry,
    index: { reflectors: [nodes, pools], byConfig: index.byConfig, listPools: () => index.listPools() },
    live,
    settings: { settings: { mode: 'Audit', holdSupersededMs: 0 }, readAt: performance.now() - 1_000 },
    reporter: () => ({ danglingCount, protectedConfigs: 5 }),
    certificate: {
      expiries: () => [{ certificate: 'authority', notAfter: new Date(1_800_000_000_000), isRenewedByGuard: false }],
    },
  });
  for (const dryRun of [false, false, true]) {
    const review = parseReview(Buffer.from(JSON.stringify(reviewBody({ dryRun }))));
    const judged = await allowUnused(review, new AbortController().signal);
    answers.record(judged, CALL);
    if (dryRun) answers.record({ ...judged, configState: 'missing' }, { ...CALL, hasAuthorization: true });
  }
  metrics.countTaskFailure('write the status');
  const { text, contentType } = await metrics.scrape();
  expect(contentType).toMatch(/^application\/openmetrics-text; version=1\.0\.0/);
  expect(text).toMatch(/# EOF\n$/);
  const expected = readFileSync(new URL('metrics.txt', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n');
  expect(text.split('\n')).toEqual(expect.arrayContaining(expected));
  expect(text).toMatch(/^mcguard_build_info\{version="\d+\.\d+\.\d+"\} 1$/m);
  live.readCount = 4;
  danglingCount = undefined;
  const later = (await metrics.scrape()).text;
  expect(later).toContain('mcguard_live_reads_total 4\n');
  expect(later).not.toMatch(/^mcguard_dangling_references /m);
});
