import { expect, test } from 'vitest';
import { toConfigName } from '../../src/decision/references.ts';
import { decide, denyBadReview, denyUnverified } from '../../src/decision/decide.ts';
import { DEFAULT_SETTINGS, type Mode } from '../../src/decision/settings.ts';
import { toAdmissionReview, toAuditAnnotations } from '../../src/webhook/admission-response.ts';

const NAME = toConfigName('rendered-worker-a');

function decideWith({ nodes = 0, mode = 'Enforce' as Mode, reason = '' }) {
  const config = { name: NAME, uid: 'c', createdAt: undefined, allowDeletion: reason };
  const review = { uid: 'u', isDryRun: false, user: 'someone', config };
  const references = [{ field: 'currentConfig', config: NAME, strength: 'strong' }] as const;
  const referrers = Array.from({ length: nodes }, (_, at) => ({ kind: 'Node', name: `n${at}`, references }) as const);
  const state = { referrers, unreadable: [], readAt: new Date() };
  return decide(review, state, { mode, holdSupersededMs: 0 }, { createdAt: () => undefined });
}

const NO_REFERRERS = { referrers: [], more: 0 };
const UNVERIFIED = denyUnverified(NAME, [{ name: 'nodes', reason: 'x' }], DEFAULT_SETTINGS);

test.each([
  ['allowed', decideWith({}), { code: 'MCG_NOT_IN_USE', ...NO_REFERRERS }],
  ['allowed', decideWith({ mode: 'Disabled' }), { code: 'MCG_DISABLED', ...NO_REFERRERS }],
  ['overridden', decideWith({ reason: 'ticket 7' }), { code: 'MCG_OVERRIDDEN', reason: 'ticket 7', ...NO_REFERRERS }],
  ['would-deny', decideWith({ nodes: 1, mode: 'Audit' }), { code: 'MCG_WOULD_DENY', cause: 'MCG_IN_USE' }],
  ['denied', UNVERIFIED, { code: 'MCG_UNVERIFIED', ...NO_REFERRERS }],
] as const)('the audit annotation %s records a decision: %j', (key, verdict, value) => {
  const annotations = toAuditAnnotations(verdict);
  expect(Object.keys(annotations)).toEqual([key]);
  expect(JSON.parse(annotations[key] ?? '')).toMatchObject({ name: NAME, ...value });
});

test('the audit annotation of a denial names ten referrers and counts the others, and a bad review has none', () => {
  const annotations = toAuditAnnotations(decideWith({ nodes: 13 }));
  const { referrers, ...rest } = JSON.parse(annotations['denied'] ?? '') as { referrers: unknown[] };
  expect(rest).toEqual({ name: NAME, code: 'MCG_IN_USE', more: 3 });
  expect(referrers).toHaveLength(10);
  expect(referrers[9]).toEqual({ kind: 'Node', name: 'n9', field: 'currentConfig' });
  expect(toAuditAnnotations(denyBadReview('not JSON'))).toEqual({});
});

test('only a denial has a status', () => {
  expect(toAdmissionReview('u1', decideWith({ nodes: 1 }))).toMatchObject({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: { uid: 'u1', allowed: false, status: { status: 'Failure', code: 403, reason: 'Forbidden' } },
  });
  const { response } = toAdmissionReview('u2', decideWith({}));
  expect(response).toEqual({ uid: 'u2', allowed: true, auditAnnotations: { allowed: expect.any(String) as string } });
});
