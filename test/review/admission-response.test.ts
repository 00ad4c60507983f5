import { expect, test } from 'vitest';
import { decide } from '../../src/review/decide.ts';
import { toConfigName } from '../../src/mco/machine-config.ts';
import { toClusterState } from '../support/cluster-state.ts';
import { nodeReferrer } from '../support/referrers.ts';
import { toAuditAnnotations } from '../../src/review/admission-response.ts';

const CONFIG = toConfigName('rendered-worker-a');

test.each([
  ['Enforce', 'denied', { code: 'MCG_IN_USE' }],
  ['Audit', 'would-deny', { code: 'MCG_WOULD_DENY', cause: 'MCG_IN_USE', dryRun: true }],
] as const)('the audit annotation in mode %s is %s, names ten referrers and counts the others', (mode, key, codes) => {
  const config = { name: CONFIG, uid: 'c', createdAt: undefined };
  const review = { uid: 'u', isDryRun: mode === 'Audit', user: 'someone', config };
  const nodes = Array.from({ length: 13 }, (_, at) => nodeReferrer(`n${at}`, CONFIG, 'currentConfig'));
  const state = toClusterState(CONFIG, nodes);
  const verdict = decide(review, state, { mode, holdSupersededMs: 0 }, { createdAt: () => undefined });
  const annotations = toAuditAnnotations(review, verdict);
  expect(Object.keys(annotations)).toEqual([key]);
  const { referrers, ...rest } = JSON.parse(annotations[key] ?? '') as { referrers: unknown[] };
  expect(rest).toEqual({ name: CONFIG, ...codes, more: 3 });
  expect(referrers).toHaveLength(10);
  expect(referrers[9]).toEqual({ kind: 'Node', name: 'n9', field: 'currentConfig' });
});
