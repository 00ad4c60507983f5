import { LRUCache } from 'lru-cache';
import { indexOf } from '../support/reference-index.ts';
import { beforeEach, expect, test, vi } from 'vitest';
import type { Expiry } from '../../src/certificates/key-pair.ts';
import type { Referrer } from '../../src/mco/referrer.ts';
import { InMemoryCluster } from '../support/in-memory-cluster/in-memory-cluster.ts';
import { StatusReporter, type StatusReporterOptions } from '../../src/status/status-reporter.ts';
import { findStalledRestores } from '../../src/status/describe-status.ts';
import type { ReferenceIndex } from '../../src/references/reference-index.ts';
import { parseNodeReferrer, parsePoolReferrer } from '../../src/mco/parse-referrer.ts';
import { DEFAULT_SETTINGS, type Settings } from '../../src/api/settings.ts';
import { INTERMEDIATE } from '../../src/serving/tls-profile.ts';
import { InProcessApi } from '../support/in-process-api.ts';
import { memoryLog } from '../support/log.ts';
import { fakeUntilEnd, runUntilEnd } from '../support/until-end.ts';
import { type ConfigName, toConfigName, type WatchedConfig } from '../../src/mco/machine-config.ts';
import { NODES } from '../../src/mco/resources.ts';
import type { GuardStatus } from '../../src/status/guard-status.ts';

const NOW = new Date('2026-11-21T12:00:00Z');
const CONFIG = toConfigName(`rendered-worker-${'a'.repeat(32)}`);
const OTHER = toConfigName(`rendered-worker-${'c'.repeat(32)}`);
const MISSING = `rendered-worker-${'b'.repeat(32)}`;
const GUARDS = 'machineconfigguards';

type StoredStatus = GuardStatus & { readonly lastDenial?: unknown; readonly deletions?: unknown };

interface Situation extends Pick<StatusReporterOptions, 'tlsProfile'> {
  readonly referrers?: readonly Referrer[];
  readonly nodes?: Partial<Pick<ReferenceIndex['reflectors'][number], 'isSynced' | 'contentProblem'>>;
  readonly areConfigsSynced?: boolean;
  readonly isForbidden?: boolean;
  readonly expiry?: Partial<Expiry>;
  readonly configs?: readonly WatchedConfig[];
  readonly settings?: Partial<Settings>;
}

function toConfig(name: ConfigName, isOverridden = false): WatchedConfig {
  return { name, uid: name, createdAt: new Date('2026-11-01'), isTerminating: false, isOverridden };
}

function toNode(name: string, config: string): Referrer {
  const annotations = { 'machineconfiguration.openshift.io/currentConfig': config };
  return parseNodeReferrer({ metadata: { name, annotations } });
}

beforeEach(() => fakeUntilEnd('setTimeout', 'clearTimeout', 'performance'));

/** A reporter that runs until the end of the test. It is the leader. */
function startReporter({ referrers = [], nodes = {}, areConfigsSynced = true, ...situation }: Situation) {
  const { isForbidden = false, expiry = {}, configs = [toConfig(CONFIG)], settings = {} } = situation;
  const { tlsProfile } = situation;
  const cluster = new InMemoryCluster();
  cluster.create(GUARDS, { metadata: { name: 'cluster' } });
  const failedTasks: string[] = [];
  const index = indexOf(referrers);
  const { pools } = index;
  const { log, messages } = memoryLog();
  const serving: Expiry = { certificate: 'serving', notAfter: new Date('2027-11-21'), isRenewedByGuard: false };
  const reporter = new StatusReporter({
    api: new InProcessApi(cluster),
    log,
    index: {
      isSynced: nodes.isSynced !== false,
      reflectors: [{ resource: NODES, isSynced: true, contentProblem: undefined, ...nodes }],
      byConfig: index.byConfig,
      listPools: () => index.listPools(),
      listUnreportedNodes: () => index.listUnreportedNodes(),
      pools,
    },
    configs: {
      isSynced: areConfigsSynced,
      isForbidden,
      names: () => new Set([CONFIG]),
      objects: new Map(configs.map((config) => [config.name, config])),
      deletedAt: () => undefined,
    },
    history: { createdAt: () => undefined, findLastUse: pools.findLastUse.bind(pools) },
    events: { record: () => {} },
    answers: { deletions: new LRUCache({ max: 1 }), lastDenial: undefined },
    certificate: { expiries: () => [{ ...serving, ...expiry }] },
    settings: () => ({ ...DEFAULT_SETTINGS, ...settings }),
    stored: () => structuredClone(cluster.get(GUARDS, 'cluster')),
    onTaskFailure: (task) => void failedTasks.push(task),
    leaseNamespace: 'ns',
    leaseHolder: 'this',
    now: () => NOW,
    tlsProfile,
  });
  runUntilEnd((signal) => reporter.run(signal));
  const readStatus = () => cluster.get(GUARDS, 'cluster')?.['status'] as StoredStatus | undefined;
  return { messages, readStatus, failedTasks };
}

/** Lets time pass until the reporter has the expected result. */
function pollInTime<Result>(read: () => Result) {
  return expect.poll(async () => {
    await vi.advanceTimersByTimeAsync(1_000);
    return read();
  });
}

async function awaitStatus(situation: Situation): Promise<StoredStatus> {
  const { readStatus } = startReporter(situation);
  await pollInTime(() => readStatus()?.conditions).toBeDefined();
  return readStatus() as StoredStatus;
}

const POOL = parsePoolReferrer({
  metadata: { name: 'worker', resourceVersion: '7' },
  spec: { configuration: { name: CONFIG } },
  status: { configuration: { name: CONFIG } },
});
const PAUSED = { ...POOL, pausedForRestore: { config: CONFIG, since: undefined } };
const SOON = new Date('2026-12-01T00:00:00Z');
const RENEWED = { notAfter: SOON, isRenewedByGuard: true };
const FORBIDDEN = { isForbidden: true, areConfigsSynced: false };
const UNREADABLE_PROFILE = { profile: INTERMEDIATE, problem: { reason: 'Forbidden', message: 'x' } };

test.each<[string, Situation, string]>([
  ['a kind that was not listed', { nodes: { isSynced: false } }, 'Ready=False Reading: not listed yet: nodes'],
  ['an unreadable object', { nodes: { contentProblem: 'nodes: w0' } }, 'Ready=False Unreadable: nodes: w0'],
  ['references to unlisted MachineConfigs', { areConfigsSynced: false }, 'ReferencesConsistent=Unknown Reading: '],
  ['MachineConfigs that the guard may not read', FORBIDDEN, 'ReferencesConsistent=Unknown Forbidden: '],
  [
    'a pool that stays paused for a restore',
    { referrers: [PAUSED] },
    `RestoresComplete=False PoolPausedForRestore: pool worker is paused for a restore of ${CONFIG}. `,
  ],
  [
    'the annotation of a config in use',
    { configs: [toConfig(CONFIG, true), toConfig(OTHER, true)], referrers: [toNode('w0', CONFIG)] },
    `machineconfig-guard.io/allow-deletion lets them be deleted: ${CONFIG}`,
  ],
  [
    'an expired certificate',
    { expiry: { notAfter: NOW } },
    'CertificatesValid=False Expired: serving until 2026-11-21 (renew it at its issuer)',
  ],
  [
    'a certificate that somebody must renew',
    { expiry: { notAfter: SOON } },
    'CertificatesValid=True ExpiresSoon: serving until 2026-12-01 (renew it at its issuer)',
  ],
  ['a certificate that the guard renews', { expiry: RENEWED }, 'CertificatesValid=True Valid: '],
  [
    'settings that cannot be read',
    { settings: { outdatedMode: 'Disabled' } },
    'SettingsUnreadable: the MachineConfigGuard cannot be read, so mode Enforce applies instead of Disabled',
  ],
  ['a TLS profile', { tlsProfile: () => ({ profile: INTERMEDIATE }) }, 'TLSProfileApplied=True Intermediate: TLS 1.2'],
  ['an unreadable TLS profile', { tlsProfile: () => UNREADABLE_PROFILE }, 'TLSProfileApplied=Unknown Forbidden: x'],
])('describes %s in a condition', async (_title, situation, expected) => {
  const { conditions } = await awaitStatus(situation);
  const texts = conditions.map(({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`);
  expect(texts).toContainEqual(expect.stringContaining(expected));
});

test('survives a defect, tries again, and reports it each time', async () => {
  const { readStatus, failedTasks, messages } = startReporter({
    tlsProfile: () => {
      if (failedTasks.length < 3) throw new Error('a defect');
      return { profile: INTERMEDIATE };
    },
  });
  await pollInTime(readStatus).toMatchObject({ mode: 'Enforce' });
  expect(failedTasks).toEqual(Array(3).fill('write the status'));
  expect(messages()).toContain('a background task failed; it runs again');
});

test('lists 50 of many dangling references, and describes three', async () => {
  const referrers = Array.from({ length: 60 }, (_, index) => toNode(`w${index}`, MISSING));
  const status = await awaitStatus({ referrers });
  expect(status.danglingCount).toBe(60);
  expect(status.danglingReferences).toHaveLength(50);
  const reference = { kind: 'Node', name: 'w0', field: 'currentConfig', config: MISSING, suggestion: '' };
  expect(status.danglingReferences[0]).toMatchObject({ ...reference, since: '2026-11-21T12:00:00Z' });
  const { message = '' } = status.conditions.find(({ type }) => type === 'ReferencesConsistent') ?? {};
  expect(message).toMatch(/^60 dangling references: Node w0 .*\. Node w1 .*\. Node w2 .*\. And 57 more$/);
});

test('a restore is stalled if it paused its pool more than an hour ago, or at an unknown time', () => {
  const times = ['2026-11-21T11:00:00Z', '2026-11-21T10:59:59Z'].map((time) => new Date(time));
  const paused = times.map((since) => ({ ...POOL, pausedForRestore: { config: CONFIG, since } }));
  expect(findStalledRestores([POOL, ...paused, PAUSED], NOW)).toEqual([paused[1], PAUSED]);
});
