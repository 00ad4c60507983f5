import type { Evidence, RegisteredWebhook } from '../../../src/cli/protection/evidence.ts';
import { parseSettings } from '../../../src/decision/settings.ts';

export const WEBHOOK: RegisteredWebhook = {
  configuration: 'machineconfig-guard',
  failurePolicy: 'Fail',
  caBundle: true,
  installation: 'rendered',
  target: 'Service machineconfig-guard/machineconfig-guard:443',
  flags: undefined,
};
export const OPEN = { ...WEBHOOK, failurePolicy: 'Ignore' };
export const FLOOR = ['nodes', 'pools'].map((name) => ({
  policy: `${name}.machineconfig-guard.io`,
  actions: ['Deny'],
}));
export const WARNING_FLOOR = FLOOR.map(({ policy }) => ({ policy, actions: ['Warn', 'Audit'] }));
export const NO_POD = { replicas: 2, readyReplicas: 0, flags: '' };

/** The guard in its mode, with the condition CertificatesValid. */
export function inMode(mode: string, certificates = 'True', ready = 'True') {
  const reason = certificates === 'True' ? 'Valid' : 'Expired';
  const guard: Evidence['guard'] = {
    spec: { mode },
    status: {
      version: '0.1.0',
      protectedConfigs: 4,
      danglingCount: 0,
      lastDenial: { time: '2026-11-23T07:00:00Z', name: 'rendered-worker-1', user: 'alice' },
      conditions: [
        { type: 'CertificatesValid', status: certificates, reason, message: 'serving until 2026-11-30' },
        { type: 'Ready', status: ready, reason: 'Reading', message: 'not listed yet: nodes' },
      ],
    },
  };
  return { guard, mode: parseSettings(guard).settings.mode };
}

export const GUARDED: Evidence = {
  readAt: new Date('2026-11-23T08:00:00Z'),
  ...inMode('Enforce'),
  webhooks: [WEBHOOK],
  floor: [],
  deployment: { replicas: 2, readyReplicas: 2, flags: '' },
  authorityFlags: '',
  lease: {
    holder: 'machineconfig-guard-7d9f8c6b5d-x2x4z_0b9a',
    renewedAt: '2026-11-23T07:59:40.000000Z',
    durationMs: 137_000,
  },
};
