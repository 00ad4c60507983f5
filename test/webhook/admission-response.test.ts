import { expect, test } from 'vitest';
import { toConfigName } from '../../src/decision/config-name.ts';
import { decide, denyBadReview, denyUnverified } from '../../src/decision/decide.ts';
import type { Referrer } from '../../src/decision/references.ts';
import { DEFAULT_SETTINGS, type Mode } from '../../src/decision/settings.ts';
import { toAdmissionReview, toAuditAnnotations } from '../../src/webhook/admission-response.ts';

const NAME = toConfigName('rendered-worker-a');

function decideWith({ nodes = 0, mode = 'Enforce' as Mode, reason = '' }) {
  const review = {
    uid: 'u',
    isDryRun: false,
    user: 'someone',
    config: { name: NAME, uid: 'c', createdAt: undefined, allowDeletion: reason },
  };
  const references = [{ field: 'currentConfig', config: NAME, strength: 'strong' }] as const;
  const referrers = Array.from({ length: nodes }, (_, index): Referrer => {
    return { kind: 'Node', name: `n${index}`, references };
  });
  const state = { referrers, unreadable: [], readAt: new Date() };
  return decide(review, state, { mode, holdSupersededMs: 0 }, () => undefined);
}

const NO_REFERRERS = { referrers: [], more: 0 };

test.each([
  ['allowed', {}, { code: 'MCG_NOT_IN_USE', ...NO_REFERRERS }],
  ['allowed', { mode: 'Disabled' }, { code: 'MCG_DISABLED', ...NO_REFERRERS }],
  ['overridden', { reason: 'ticket 7' }, { code: 'MCG_OVERRIDDEN', reason: 'ticket 7', ...NO_REFERRERS }],
  ['would-deny', { nodes: 1, mode: 'Audit' }, { code: 'MCG_WOULD_DENY', cause: 'MCG_IN_USE' }],
] as const)('the audit annotation %s records a decision with %j', (key, situation, value) => {
  const annotations = toAuditAnnotations(decideWith(situation));
  expect(Object.keys(annotations)).toEqual([key]);
  expect(JSON.parse(annotations[key] ?? '')).toMatchObject({ name: NAME, ...value });
});

test('the audit annotation of a denial names ten referrers and counts the others', () => {
  const annotations = toAuditAnnotations(decideWith({ nodes: 13 }));
  const { referrers, ...rest } = JSON.parse(annotations['denied'] ?? '') as { referrers: unknown[] };
  expect(rest).toEqual({ name: NAME, code: 'MCG_IN_USE', more: 3 });
  expect(referrers).toHaveLength(10);
  expect(referrers[9]).toEqual({ kind: 'Node', name: 'n9', field: 'currentConfig' });
});

test('an unverified denial is audited as denied, and a bad review not at all', () => {
  const unverified = denyUnverified(NAME, [{ name: 'nodes', reason: 'x' }], DEFAULT_SETTINGS);
  expect(Object.keys(toAuditAnnotations(unverified))).toEqual(['denied']);
  expect(toAuditAnnotations(denyBadReview('not JSON'))).toEqual({});
});

test('only a denial has a status', () => {
  expect(toAdmissionReview('u1', decideWith({ nodes: 1 }))).toMatchObject({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: { uid: 'u1', allowed: false, status: { status: 'Failure', code: 403, reason: 'Forbidden' } },
  });
  const { response } = toAdmissionReview('u2', decideWith({}));
  expect(response).toEqual({
    uid: 'u2',
    allowed: true,
    auditAnnotations: { allowed: expect.any(String) as string },
  });
});
