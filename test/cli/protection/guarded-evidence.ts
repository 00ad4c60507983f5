import type { Evidence, RegisteredWebhook } from '../../../src/cli/protection/evidence.ts';

const WEBHOOK: RegisteredWebhook = {
  configuration: 'machineconfig-guard',
  failurePolicy: 'Fail',
  caBundle: true,
  installation: 'rendered',
  target: 'Service machineconfig-guard/machineconfig-guard:443',
  flags: undefined,
  alteration: undefined,
};

export const GUARDED: Evidence = {
  readAt: new Date('2026-11-23T08:00:00Z'),
  mode: 'Enforce',
  guard: {
    status: {
      version: '0.1.0',
      protectedConfigs: 4,
      danglingCount: 0,
      lastDenial: { time: '2026-11-23T07:00:00Z', name: 'rendered-worker-1', user: 'alice' },
      conditions: [
        { type: 'CertificatesValid', status: 'True', reason: 'Valid', message: 'serving until 2026-11-30' },
        { type: 'Ready', status: 'True', reason: 'Reading', message: '' },
      ],
    },
  },
  webhooks: [WEBHOOK],
  floor: [],
  servesPolicies: true,
  deployment: { spec: { replicas: 2 }, status: { readyReplicas: 2 } },
  lease: {
    spec: {
      holderIdentity: 'machineconfig-guard-7d9f8c6b5d-x2x4z_0b9a',
      renewTime: '2026-11-23T07:59:40.000000Z',
      leaseDurationSeconds: 137,
    },
  },
};
