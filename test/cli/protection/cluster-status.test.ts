import { describe, expect, test } from 'vitest';
import type { RegisteredWebhook } from '../../../src/cli/protection/evidence.ts';
import { type StatusEvidence, summarizeEvidence } from '../../../src/cli/protection/cluster-status.ts';

const NOW = new Date('2026-11-23T08:00:00Z');
const WEBHOOK: RegisteredWebhook = {
  configuration: 'machineconfig-guard',
  failurePolicy: 'Fail',
  caBundle: true,
  injected: true,
  installation: 'service-ca',
  target: 'Service machineconfig-guard/machineconfig-guard:443',
};
const OPEN = { ...WEBHOOK, failurePolicy: 'Ignore' };
const DEV = {
  ...OPEN,
  configuration: 'machineconfig-guard-dev-0123456789',
  installation: 'dev',
  target: 'https://127.0.0.1:9443/validate',
} as const;
const FLOOR = ['nodes', 'pools'].map((name) => ({
  policy: `${name}.machineconfig-guard.io`,
  actions: ['Deny'],
}));
const WARNING_FLOOR = FLOOR.map((binding) => ({ ...binding, actions: ['Warn'] }));
const DEPLOYMENT = { replicas: 2, readyReplicas: 2, hostNetwork: false };
const BY_URL = { ...WEBHOOK, target: 'https://guard.example.com/validate' };
const NO_POD = { ...DEPLOYMENT, readyReplicas: 0 };
const LEASE = {
  holder: 'machineconfig-guard-7d9f8c6b5d-x2x4z_0b9a',
  renewedAt: '2026-11-23T07:59:40.000000Z',
  durationSeconds: 137,
};
const STALE = { ...LEASE, renewedAt: '2026-11-23T07:56:40.000000Z' };

function toGuard(spec: object, certificates = 'True'): StatusEvidence['guard'] {
  const reason = certificates === 'True' ? 'Valid' : 'Expired';
  const message = 'serving until 2026-11-30';
  return {
    spec,
    status: {
      version: '0.1.0',
      protectedConfigs: 4,
      danglingCount: 0,
      lastDenial: { time: '2026-11-23T07:00:00Z', name: 'rendered-worker-1', user: 'alice' },
      conditions: [{ type: 'CertificatesValid', status: certificates, reason, message }],
    },
  };
}

const GUARDED: StatusEvidence = {
  namespace: 'machineconfig-guard',
  guard: toGuard({ mode: 'Enforce' }),
  webhooks: [WEBHOOK],
  floor: [],
  deployment: DEPLOYMENT,
  lease: LEASE,
};

function summarize(changes: Partial<StatusEvidence> = {}) {
  return summarizeEvidence({ ...GUARDED, ...changes }, NOW);
}

test('reports every value and its evidence', () => {
  expect(summarize()).toEqual({
    state: 'PROTECTED',
    protected: true,
    by: 'guard',
    explanation: 'the guard is registered, and a replica is ready',
    advice: null,
    evidence: [
      'webhook: machineconfig-guard with failurePolicy Fail and a caBundle',
      'policy floor: not active',
      'Deployment: 2 of 2 replicas ready',
      'Lease: renewed at 2026-11-23T07:59:40.000000Z',
    ],
    unreadable: [],
    version: '0.1.0',
    mode: 'Enforce',
    failurePolicy: 'Fail',
    replicas: 2,
    readyReplicas: 2,
    leader: 'machineconfig-guard-7d9f8c6b5d-x2x4z',
    leaderRenewedAt: LEASE.renewedAt,
    certificates: { valid: true, reason: 'Valid', message: 'serving until 2026-11-30' },
    protectedConfigs: 4,
    danglingCount: 0,
    lastDenial: { time: '2026-11-23T07:00:00Z', name: 'rendered-worker-1', user: 'alice' },
  });
});

test('of a cluster without a guard, every value is null', () => {
  const status = summarize({ guard: null, webhooks: [], deployment: null, lease: null });
  expect(status).toMatchObject({ state: 'EXPOSED', explanation: 'the guard is not installed' });
  const { version, mode, failurePolicy, replicas, leader, certificates, danglingCount, lastDenial } = status;
  const values = [version, mode, failurePolicy, replicas, leader, certificates, danglingCount, lastDenial];
  expect(new Set(values)).toEqual(new Set([null]));
});

test('names the objects that are not readable, and guesses none of their values', () => {
  const unreadable = { webhooks: undefined, floor: undefined, deployment: undefined, lease: undefined };
  expect(summarize(unreadable)).toMatchObject({
    state: 'UNKNOWN',
    explanation: expect.stringContaining('you may not list validatingwebhookconfigurations') as string,
    evidence: [
      'webhook: not readable',
      'policy floor: not readable',
      'Deployment: not readable',
      'Lease: not readable',
    ],
    unreadable: ['webhook', 'policy floor', 'Deployment', 'Lease'],
    failurePolicy: null,
    replicas: null,
    readyReplicas: null,
    leader: null,
  });
});

describe('the state', () => {
  test.each<[string, string, string | null, Partial<StatusEvidence>, RegExp]>([
    ['the object has an empty spec', 'PROTECTED', 'guard', { guard: {} }, /is ready$/],
    ['there is no object', 'PROTECTED', 'guard', { guard: null }, /is ready$/],
    ['one replica is ready', 'PROTECTED', 'guard', { deployment: { ...DEPLOYMENT, readyReplicas: 1 } }, /ready/],
    ['dev runs beside it', 'PROTECTED', 'guard', { webhooks: [DEV, WEBHOOK] }, /is ready$/],
    ['the Deployment is not readable', 'PROTECTED', 'guard', { deployment: undefined }, /renews the Lease$/],
    ['it has no leader', 'PROTECTED', 'guard', { lease: null }, /is ready$/],
    ['the mode is Audit', 'EXPOSED', null, { guard: toGuard({ mode: 'Audit' }) }, /mode of the guard is Audit$/],
    [
      'the mode is Audit, with the floor',
      'PROTECTED',
      'floor',
      { guard: toGuard({ mode: 'Audit' }), floor: FLOOR },
      /^only the policy floor is active: the mode of the guard is Audit\./,
    ],
    ['no pod is ready', 'BLOCKED', null, { deployment: NO_POD }, /because no guard pod is ready\. .* safe$/],
    ['no pod is ready, with the floor', 'BLOCKED', null, { deployment: NO_POD, floor: FLOOR }, /no guard pod/],
    [
      'no pod is ready, and it fails open',
      'EXPOSED',
      null,
      { webhooks: [OPEN], deployment: NO_POD, floor: WARNING_FLOOR },
      /^no guard pod is ready, and its failurePolicy is Ignore$/,
    ],
    [
      'no pod is ready, and it fails open with the floor',
      'PROTECTED',
      'floor',
      { webhooks: [OPEN], deployment: NO_POD, floor: FLOOR },
      /^only the policy floor is active: no guard pod/,
    ],
    ['it has no caBundle', 'BLOCKED', null, { webhooks: [{ ...WEBHOOK, caBundle: false }] }, /no caBundle/],
    ['its certificate expired', 'BLOCKED', null, { guard: toGuard({}, 'False') }, /expired \(serving until/],
    [
      'no pod is ready, and the webhook has a URL',
      'PROTECTED',
      'guard',
      { webhooks: [BY_URL], deployment: NO_POD },
      /renews the Lease$/,
    ],
    [
      'no pod is ready, and nothing shows that the server of the URL runs',
      'UNKNOWN',
      null,
      { webhooks: [BY_URL], deployment: NO_POD, lease: null },
      /no Deployment or Lease/,
    ],
    ['its Deployment is gone', 'BLOCKED', null, { deployment: null }, /Deployment does not exist/],
    ['the leader is silent', 'UNKNOWN', null, { lease: STALE }, /not renewed its Lease since 2026-11-23T07:56/],
    [
      'only dev is registered',
      'UNKNOWN',
      null,
      { webhooks: [DEV], deployment: null, lease: null },
      /the command dev is registered/,
    ],
    [
      'only dev is registered, and the pods of the manifests are ready',
      'UNKNOWN',
      null,
      { webhooks: [DEV] },
      /the command dev is registered/,
    ],
    [
      'another namespace was read',
      'UNKNOWN',
      null,
      { namespace: 'other', deployment: null, lease: null },
      /no Deployment or Lease that you may read/,
    ],
    [
      'neither Deployment nor Lease is readable',
      'UNKNOWN',
      null,
      { deployment: undefined, lease: undefined },
      /no Deployment or Lease that you may read/,
    ],
    [
      'only the floor is installed',
      'PROTECTED',
      'floor',
      { webhooks: [], floor: FLOOR },
      /not installed\. The policies can miss/,
    ],
    ['only half of the floor is', 'EXPOSED', null, { webhooks: [], floor: FLOOR.slice(1) }, /not installed$/],
    ['the floor is not readable', 'UNKNOWN', null, { webhooks: [], floor: undefined }, /bindings of the policy/],
  ])('if %s is %s', (_case, state, by, changes, explanation) => {
    const status = summarize(changes);
    expect(status).toMatchObject({ state, by, protected: state === 'PROTECTED' });
    expect(status.explanation).toMatch(explanation);
    if (by !== 'guard') expect(status.advice).not.toBeNull();
  });
});

test('a webhook with a URL needs no caBundle and no pod of the cluster', () => {
  const webhook = { ...WEBHOOK, caBundle: false, target: 'https://guard.example.com/validate' };
  const status = summarize({
    webhooks: [webhook],
    deployment: { ...DEPLOYMENT, readyReplicas: 0 },
    lease: null,
  });
  expect(status.state).toBe('UNKNOWN');
});
