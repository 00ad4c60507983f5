import { afterAll, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import type { Expiry } from '../../src/certificates/serving-certificate.ts';
import { toConfigName } from '../../src/decision/config-name.ts';
import type { Referrer } from '../../src/decision/references.ts';
import { InMemoryCluster } from '../../src/demo/cluster/in-memory-cluster.ts';
import { StatusReporter, type StatusReporterOptions } from '../../src/status/status-reporter.ts';
import type { GuardStatus } from '../../src/status/status-writer.ts';
import type { ClusterEvent } from '../../src/kube/event-recorder.ts';
import { parseNodeReferrer, parsePoolReferrer } from '../../src/references/parse-referrer.ts';
import { INTERMEDIATE } from '../../src/webhook/tls-profile.ts';
import { InProcessApi } from '../support/in-process-api.ts';
import { memoryLog } from '../support/log.ts';

const NOW = new Date('2026-11-21T12:00:00Z');
const CONFIG = toConfigName(`rendered-worker-${'a'.repeat(32)}`);
const MISSING = `rendered-worker-${'b'.repeat(32)}`;
const GUARDS = 'machineconfigguards';

type StoredStatus = GuardStatus & { readonly lastDenial?: unknown; readonly deletions?: unknown };

interface Situation extends Pick<StatusReporterOptions, 'tlsProfile'> {
  readonly referrers?: readonly Referrer[];
  readonly unsynced?: readonly string[];
  readonly areConfigsSynced?: boolean;
  readonly isForbidden?: boolean;
  readonly expiry?: Partial<Expiry>;
  readonly isLeader?: boolean;
}

function toNode(name: string, config: string): Referrer {
  const annotations = { 'machineconfiguration.openshift.io/currentConfig': config };
  return parseNodeReferrer({ metadata: { name, annotations } });
}

const stops: (() => Promise<void>)[] = [];

afterAll(async () => {
  await Promise.all(stops.map(async (stop) => await stop()));
});

/** A reporter that runs until all tests have ended. It is the leader, unless another replica holds the Lease. */
function startReporter({ referrers = [], unsynced = [], areConfigsSynced = true, ...situation }: Situation) {
  const { isForbidden = false, expiry = {}, isLeader = true, ...options } = situation;
  const cluster = new InMemoryCluster();
  cluster.create(GUARDS, { metadata: { name: 'cluster' } });
  if (!isLeader) {
    const spec = { holderIdentity: 'another' };
    cluster.create('leases', { metadata: { namespace: 'ns', name: 'machineconfig-guard' }, spec });
  }
  const events: ClusterEvent[] = [];
  const notAfter = new Date('2027-11-21T12:00:00Z');
  const reporter = new StatusReporter({
    api: new InProcessApi(cluster),
    log: memoryLog().log,
    index: {
      isSynced: unsynced.length === 0,
      unsynced,
      referrers: () => referrers.values() as Generator<Referrer>,
    },
    configs: {
      isSynced: areConfigsSynced,
      isForbidden,
      names: () => new Set([CONFIG]),
      deletedAt: () => undefined,
    },
    events: { record: (event) => void events.push(event) },
    certificate: {
      expiries: () => [{ certificate: 'serving', notAfter, isRenewedByGuard: false, ...expiry }],
    },
    mode: () => 'Enforce',
    leaseNamespace: 'ns',
    leaseHolder: 'this',
    leaseTiming: { durationMs: 60_000, retryMs: 10 },
    now: () => NOW,
    ...options,
  });
  const abort = new AbortController();
  const running = reporter.run(abort.signal);
  stops.push(async () => {
    abort.abort();
    await running;
  });
  const status = () => cluster.get(GUARDS, 'cluster')?.['status'] as StoredStatus | undefined;
  return { reporter, events, status };
}

async function awaitStatus(situation: Situation): Promise<StoredStatus> {
  const { status } = startReporter(situation);
  await expect.poll(() => status()?.conditions).toBeDefined();
  return status() as StoredStatus;
}

const PAUSED = parsePoolReferrer({
  metadata: { name: 'worker', annotations: { 'machineconfig-guard.io/paused-for-restore': CONFIG } },
  spec: { paused: true, configuration: { name: CONFIG } },
  status: { configuration: { name: CONFIG } },
});

test.concurrent('writes mode, version, the number of configs in use and the conditions', async () => {
  const status = await awaitStatus({ referrers: [toNode('w0', CONFIG)] });
  const counts = { protectedConfigs: 1, danglingCount: 0, danglingReferences: [] };
  expect(status).toMatchObject({ mode: 'Enforce', version: packageJson.version, ...counts });
  expect(status.conditions.map(({ type, status: value }) => `${type}=${value}`)).toEqual([
    'Ready=True',
    'ReferencesConsistent=True',
    'RestoresComplete=True',
    'CertificatesValid=True',
  ]);
});

test.concurrent.each<[string, Situation, object]>([
  [
    'a kind that was not listed',
    { unsynced: ['nodes'] },
    { type: 'Ready', status: 'False', message: 'not listed yet: nodes' },
  ],
  [
    'MachineConfigs that were not listed',
    { areConfigsSynced: false },
    { type: 'Ready', status: 'False', message: 'not listed yet: machineconfigs' },
  ],
  [
    'references without a list of MachineConfigs',
    { areConfigsSynced: false },
    { type: 'ReferencesConsistent', status: 'Unknown', reason: 'Reading' },
  ],
  [
    'MachineConfigs that the guard may not read',
    { isForbidden: true, areConfigsSynced: false },
    { type: 'ReferencesConsistent', status: 'Unknown', reason: 'Forbidden' },
  ],
  [
    'a pool that stays paused for a restore',
    { referrers: [PAUSED] },
    {
      type: 'RestoresComplete',
      status: 'False',
      message: expect.stringContaining(`pool worker is paused for a restore of ${CONFIG}. `),
    },
  ],
  [
    'an expired certificate',
    { expiry: { notAfter: NOW } },
    { type: 'CertificatesValid', status: 'False', reason: 'Expired', message: 'serving until 2026-11-21' },
  ],
  [
    'a certificate that somebody must renew soon',
    { expiry: { notAfter: new Date('2026-12-01T00:00:00Z') } },
    { type: 'CertificatesValid', status: 'True', reason: 'ExpiresSoon' },
  ],
  [
    'a certificate that the guard renews soon',
    { expiry: { notAfter: new Date('2026-12-01T00:00:00Z'), isRenewedByGuard: true } },
    { type: 'CertificatesValid', status: 'True', reason: 'Valid' },
  ],
  [
    'a TLS profile',
    { tlsProfile: () => ({ profile: INTERMEDIATE }) },
    { type: 'TLSProfileApplied', status: 'True', reason: 'Intermediate' },
  ],
  [
    'an unreadable TLS profile',
    { tlsProfile: () => ({ profile: INTERMEDIATE, problem: { reason: 'Forbidden', message: 'x' } }) },
    { type: 'TLSProfileApplied', status: 'Unknown', reason: 'Forbidden', message: 'x' },
  ],
])('describes %s in a condition', async (_title, situation, condition) => {
  const { conditions } = await awaitStatus(situation);
  expect(conditions).toContainEqual(expect.objectContaining(condition));
});

test.concurrent('omits what it cannot know without the right to read MachineConfigs', async () => {
  const status = await awaitStatus({ isForbidden: true, areConfigsSynced: false });
  expect(status).not.toHaveProperty('protectedConfigs');
  expect(status).not.toHaveProperty('danglingCount');
});

test.concurrent('lists 50 of many dangling references, and describes three', async () => {
  const referrers = Array.from({ length: 60 }, (_, index) => toNode(`w${index}`, MISSING));
  const status = await awaitStatus({ referrers });
  expect(status.danglingCount).toBe(60);
  expect(status.danglingReferences).toHaveLength(50);
  const { explanation = '', ...first } = status.danglingReferences[0] ?? {};
  const reference = { kind: 'Node', name: 'w0', field: 'currentConfig', config: MISSING };
  expect(first).toEqual({ ...reference, since: '2026-11-21T12:00:00Z', suggestion: '' });
  expect(explanation).toMatch(/^never existed since/);
  const { message = '' } = status.conditions.find(({ type }) => type === 'ReferencesConsistent') ?? {};
  expect(message).toMatch(/^60 dangling references: Node w0 .*\. Node w1 .*\. Node w2 .*\. And 57 more$/);
});

test.concurrent('records an Event about each dangling node although another replica holds the Lease', async () => {
  const pool = parsePoolReferrer({
    metadata: { name: 'worker' },
    spec: { configuration: { name: MISSING } },
  });
  const { events, status } = startReporter({
    referrers: [pool, toNode('w0', MISSING), toNode('w1', CONFIG)],
    isLeader: false,
  });
  await expect
    .poll(() => events)
    .toMatchObject([
      {
        regarding: { kind: 'Node', name: 'w0', uid: 'w0' },
        reason: 'DanglingReference',
        config: MISSING,
        note: expect.stringContaining(`Node w0 (currentConfig) names ${MISSING}, which does not exist`),
      },
    ]);
  expect(status()).toBeUndefined();
});

test.concurrent('writes its own answers although another replica holds the Lease', async () => {
  const { reporter, status } = startReporter({ isLeader: false });
  const references = [{ kind: 'Node', name: 'w0', field: 'currentConfig', config: CONFIG, strength: 'strong' }];
  const record = (user: string, verdict: object) =>
    reporter.recordAnswer({ review: { user }, verdict } as unknown as Parameters<StatusReporter['recordAnswer']>[0]);
  record('eve', { outcome: 'denied', config: CONFIG, references });
  record('alice', { outcome: 'overridden', config: MISSING, references: [] });
  await expect
    .poll(() => status()?.lastDenial)
    .toEqual({
      time: '2026-11-21T12:00:00Z',
      name: CONFIG,
      user: 'eve',
      referrers: [{ kind: 'Node', name: 'w0', field: 'currentConfig' }],
    });
  expect(status()?.deletions).toEqual({ [MISSING]: { time: '2026-11-21T12:00:00Z', user: 'alice' } });
  expect(status()).not.toHaveProperty('mode');
});
