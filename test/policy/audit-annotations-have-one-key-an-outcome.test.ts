import { expect, test } from 'vitest';
import { ALLOW_DELETION_ANNOTATION, DEFAULT_SETTINGS } from '../../src/decision/settings.ts';
import type { Referrer } from '../../src/decision/references.ts';
import type { Review } from '../../src/decision/review.ts';
import { toAdmissionReview, toAuditAnnotations } from '../../src/webhook/admission-response.ts';
import { toConfigName } from '../../src/decision/config-name.ts';
import { denyBadReview, decide, denyUnverified } from '../../src/decision/decide.ts';

const NAME = toConfigName('rendered-worker-a4983d88dabdc54ecf977ee120fd3796');

function review(annotations: ReadonlyMap<string, string> = new Map()): Review {
  return { uid: 'u', dryRun: false, user: 'someone', config: { name: NAME, uid: 'c', annotations } };
}

function nodes(count: number): Referrer[] {
  return Array.from({ length: count }, (_, index) => ({
    kind: 'Node',
    name: `n${index}`,
    references: [{ field: 'currentConfig', config: NAME, strength: 'strong' }],
  }));
}

const NOW = new Date();

test('denied: compact JSON, at most ten referrers and how many more', () => {
  const verdict = decide(review(), { referrers: nodes(13), unreadable: [] }, DEFAULT_SETTINGS, NOW);
  const annotations = toAuditAnnotations(verdict);
  expect(Object.keys(annotations)).toEqual(['denied']);
  const value = JSON.parse(annotations['denied'] ?? '') as { referrers: unknown[] };
  expect(value).toMatchObject({ name: NAME, code: 'MCG_IN_USE', more: 3 });
  expect(value.referrers).toHaveLength(10);
  expect(value.referrers[0]).toEqual({ kind: 'Node', name: 'n0', field: 'currentConfig' });
});

test.each([
  ['allowed', review(), DEFAULT_SETTINGS, 'MCG_NOT_IN_USE'],
  ['allowed', review(), { mode: 'Disabled', holdSupersededMs: 0 }, 'MCG_DISABLED'],
  ['overridden', review(new Map([[ALLOW_DELETION_ANNOTATION, 'ticket 7']])), DEFAULT_SETTINGS, 'MCG_OVERRIDDEN'],
] as const)('%s: %#', (key, asked, policy, code) => {
  const annotations = toAuditAnnotations(decide(asked, { referrers: [], unreadable: [] }, policy, NOW));
  expect(Object.keys(annotations)).toEqual([key]);
  expect(JSON.parse(annotations[key] ?? '')).toMatchObject({ name: NAME, code, referrers: [], more: 0 });
});

test('an override is recorded with its reason', () => {
  const asked = review(new Map([[ALLOW_DELETION_ANNOTATION, 'ticket 7']]));
  const annotations = toAuditAnnotations(decide(asked, { referrers: [], unreadable: [] }, DEFAULT_SETTINGS, NOW));
  expect(JSON.parse(annotations['overridden'] ?? '')).toMatchObject({ reason: 'ticket 7' });
});

test('would-deny keeps the cause', () => {
  const verdict = decide(
    review(),
    { referrers: nodes(1), unreadable: [] },
    { mode: 'Audit', holdSupersededMs: 0 },
    NOW,
  );
  expect(JSON.parse(toAuditAnnotations(verdict)['would-deny'] ?? '')).toMatchObject({
    code: 'MCG_WOULD_DENY',
    cause: 'MCG_IN_USE',
  });
});

test('could not verify is recorded under denied; a bad review names no object, so nothing is recorded', () => {
  const verdict = denyUnverified(NAME, [{ name: 'nodes', reason: 'x' }], DEFAULT_SETTINGS);
  expect(Object.keys(toAuditAnnotations(verdict))).toEqual(['denied']);
  expect(toAuditAnnotations(denyBadReview('not JSON'))).toEqual({});
});

test('the answer: allowed is exactly what carries no refusal, and only a refusal has a status', () => {
  const denied = toAdmissionReview(
    'u1',
    decide(review(), { referrers: nodes(1), unreadable: [] }, DEFAULT_SETTINGS, NOW),
  );
  expect(denied).toMatchObject({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: { uid: 'u1', allowed: false, status: { status: 'Failure', code: 403, reason: 'Forbidden' } },
  });
  const allowed = toAdmissionReview('u2', decide(review(), { referrers: [], unreadable: [] }, DEFAULT_SETTINGS, NOW));
  expect(allowed.response).toMatchObject({ uid: 'u2', allowed: true });
  expect(allowed.response).not.toHaveProperty('status');
  expect(allowed.response).not.toHaveProperty('warnings');
});
