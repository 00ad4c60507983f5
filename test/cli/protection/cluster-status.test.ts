import { expect, test } from 'vitest';
import { type ClusterStatus, summarizeEvidence } from '../../../src/cli/protection/cluster-status.ts';
import type { Evidence } from '../../../src/cli/protection/evidence.ts';
import { expectProtection, FLOOR, GUARDED, inMode, NO_POD, OPEN, WARNING_FLOOR, WEBHOOK } from './guarded-evidence.ts';

const BY_URL = { ...WEBHOOK, caBundle: false, target: 'https://guard.example.com/validate' };
const STALE = { holder: 'a', renewedAt: '2026-11-23T07:56:40.000000Z', durationMs: 137_000 };
const LATE = { ...STALE, renewedAt: '2026-11-23T07:56:50Z' };
const AUDIT = inMode('Audit');
const OPEN_NO_POD = { webhooks: [OPEN], deployment: NO_POD };
const FLOOR_ONLY = { webhooks: [], floor: FLOOR };
const HALF_FLOOR = { webhooks: [], floor: FLOOR.slice(1) };
const SILENT = { deployment: NO_POD, lease: null };
const EMPTY = { guard: null, mode: null };

function summarize(changes: Partial<Evidence> = {}) {
  return summarizeEvidence({ ...GUARDED, ...changes });
}

test('reports every value', () => {
  expect(summarize()).toEqual({
    state: 'PROTECTED',
    protected: true,
    by: 'guard',
    explanation: 'the guard is registered, and a replica runs',
    failing: null,
    advice: null,
    wayOut: null,
    unreadable: [],
    version: '0.1.0',
    mode: 'Enforce',
    failurePolicy: 'Fail',
    floor: [],
    replicas: 2,
    readyReplicas: 2,
    leader: 'machineconfig-guard-7d9f8c6b5d-x2x4z',
    leaderRenewedAt: '2026-11-23T07:59:40.000000Z',
    certificates: { valid: true, reason: 'Valid', message: 'serving until 2026-11-30' },
    protectedConfigs: 4,
    danglingCount: 0,
    lastDenial: { time: '2026-11-23T07:00:00Z', name: 'rendered-worker-1', user: 'alice' },
  });
});

test.each<[string, ClusterStatus['state'], string | null, Partial<Evidence>, RegExp, RegExp]>([
  ['there is no MachineConfigGuard', 'PROTECTED', 'guard', EMPTY, /a replica runs$/, /^$/],
  ['its mode is invalid', 'PROTECTED', 'guard', inMode('Off'), /a replica runs$/, /^$/],
  ['its Deployment is not readable', 'PROTECTED', 'guard', { deployment: undefined }, /runs$/, /^$/],
  ['it has no leader', 'PROTECTED', 'guard', { lease: null }, /runs$/, /^$/],
  ['its Lease is late within the tolerance', 'PROTECTED', 'guard', { lease: LATE }, /runs$/, /^$/],
  ['it has a URL and no pod', 'PROTECTED', 'guard', { webhooks: [BY_URL], deployment: NO_POD }, /runs$/, /^$/],
  ['only the floor is installed', 'PROTECTED', 'floor', FLOOR_ONLY, /not installed\. The policies/, /^$/],
  ['the floor remains in Audit', 'PROTECTED', 'floor', { ...AUDIT, floor: FLOOR }, /^only the policy floor/, /Enforce/],
  ['it fails open with the floor', 'PROTECTED', 'floor', { ...OPEN_NO_POD, floor: FLOOR }, /^only.* no guard/, /pods/],
  ['no pod is ready', 'BLOCKED', null, { deployment: NO_POD }, /because no guard pod .* safe$/, /oc get pods/],
  ['no pod is ready, with the floor', 'BLOCKED', null, { deployment: NO_POD, floor: FLOOR }, /no guard/, /pods/],
  ['it has no caBundle', 'BLOCKED', null, { webhooks: [{ ...WEBHOOK, caBundle: false }] }, /caBundle/, /manifests/],
  [
    'its certificate expired',
    'BLOCKED',
    null,
    inMode('Enforce', 'False'),
    /expired \(serving until/,
    /explain \w+Expiring$/,
  ],
  ['its Deployment is gone', 'BLOCKED', null, { deployment: null }, /Deployment .* does not exist/, /^install/],
  ['the mode is Audit', 'EXPOSED', null, AUDIT, /deleted: the mode of the guard is Audit$/, /Enforce/],
  ['it fails open without pods', 'EXPOSED', null, OPEN_NO_POD, /no guard pod is ready, and .* is Ignore$/, /get pods/],
  ['the floor only warns', 'EXPOSED', null, { ...AUDIT, floor: WARNING_FLOOR }, /Audit; the policy nodes/, /Enforce/],
  [
    'half of the floor is',
    'EXPOSED',
    null,
    HALF_FLOOR,
    /not installed; the policy nodes\S+ has no bind/,
    /--profile policy-floor --out - \| oc apply -f -$/,
  ],
  ['the leader is silent', 'UNKNOWN', null, { lease: STALE }, /not renewed its Lease since 2026-11-23T07:56/, /verify/],
  ['its URL has no leader', 'UNKNOWN', null, { webhooks: [BY_URL], ...SILENT }, /no Deployment or Lease/, /verify/],
  ['the floor is not readable', 'UNKNOWN', null, { webhooks: [], floor: undefined }, /bindings of the pol/, /^install/],
  ['no webhook is readable', 'UNKNOWN', null, { webhooks: undefined }, /you may not list/, /-reader$/],
])('if %s, the state is %s by %s', (_case, state, by, changes, explanation, advice) => {
  const { state: found, ...status } = summarize(changes);
  expectProtection({ ...status, state: found as 'UNKNOWN' }, state, by, explanation, advice);
});
