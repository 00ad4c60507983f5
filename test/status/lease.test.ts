import { sleep } from '../../src/common/wait.ts';
import { beforeEach, expect, test, vi } from 'vitest';
import { InMemoryCluster } from '../support/in-memory-cluster/in-memory-cluster.ts';
import { ApiUnreachable } from '../../src/kube/errors.ts';
import { Lease } from '../../src/status/lease.ts';
import { InProcessApi } from '../support/in-process-api.ts';
import { memoryLog } from '../support/log.ts';
import { fakeUntilEnd, runUntilEnd } from '../support/until-end.ts';

/** OpenShift's values. */
const [DURATION_MS, RETRY_MS] = [137_000, 26_000];

let cluster: InMemoryCluster;
let api: InProcessApi;

beforeEach(() => {
  fakeUntilEnd('setTimeout', 'clearTimeout', 'performance');
  cluster = new InMemoryCluster();
  api = new InProcessApi(cluster);
});

/** Lets this time pass for the replicas. */
const pass = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms));

function runReplica(identity: string) {
  const { log, lines } = memoryLog();
  const onFailure = vi.fn<() => void>();
  const lease = new Lease({ api, namespace: 'ns', name: 'guard', identity, log, onFailure });
  return { lease, end: runUntilEnd((signal) => lease.run(signal)), lines, onFailure };
}

function createLease(holderIdentity: string) {
  cluster.create('leases', { metadata: { name: 'guard', namespace: 'ns' }, spec: { holderIdentity } });
}

const readHolder = () => {
  const spec = cluster.get('leases', 'guard', 'ns')?.['spec'] as { holderIdentity: string } | undefined;
  return spec?.holderIdentity;
};

test('one of several replicas holds the Lease, and keeps it', async () => {
  const leases = ['a', 'b', 'c'].map((identity) => runReplica(identity).lease);
  const holders = () => leases.filter(({ isHeld }) => isHeld);
  await pass(RETRY_MS);
  expect(holders()).toHaveLength(1);
  const [first] = holders();
  for (let count = 0; count < 200; count += 1) {
    await pass(RETRY_MS);
    expect(holders()).toEqual([first]);
  }
});

test('the Lease says its duration in seconds, and its times in microseconds', async () => {
  runReplica('a');
  await pass(0);
  const time: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  expect(cluster.get('leases', 'guard', 'ns')?.['spec']).toEqual({
    holderIdentity: 'a',
    leaseDurationSeconds: DURATION_MS / 1_000,
    renewTime: time,
    acquireTime: time,
  });
});

test('a replica that stops releases the Lease, and another acquires it before it expires', async () => {
  const first = runReplica('a');
  await pass(0);
  expect(first.lease.isHeld).toBe(true);
  await first.end();
  expect([first.lease.isHeld, readHolder()]).toEqual([false, '']);
  const second = runReplica('b');
  await pass(0);
  expect([second.lease.isHeld, readHolder()]).toEqual([true, 'b']);
});

test('a replica acquires the Lease of a dead holder after its duration, and not before', async () => {
  createLease('dead');
  const { lease } = runReplica('b');
  await pass(DURATION_MS);
  expect(lease.isHeld).toBe(false);
  await pass(RETRY_MS);
  expect([lease.isHeld, readHolder()]).toEqual([true, 'b']);
});

test('a replica that cannot renew the Lease loses it, logs once, counts and recovers', async () => {
  const { lease, lines, onFailure } = runReplica('a');
  await pass(0);
  api.failure = new ApiUnreachable('unreachable');
  await pass(DURATION_MS - 1);
  expect(lease.isHeld).toBe(true);
  await pass(1);
  expect(lease.isHeld).toBe(false);
  expect(lines.filter(({ level }) => level === 40)).toHaveLength(1);
  expect(onFailure).toHaveBeenCalledTimes(5);
  api.failure = undefined;
  await pass(RETRY_MS);
  expect(lease.isHeld).toBe(true);
});

test.each([0, 13, 25])('keeps the Lease through a minute in which requests hang, %i s after its renewal', async (s) => {
  // The longest pauses.
  vi.spyOn(Math, 'random').mockReturnValue(0.999);
  const [first, second] = [runReplica('a'), runReplica('b')];
  await pass(s * 1_000);
  const json = vi.spyOn(api, 'json').mockImplementation(async ({ timeoutMs, signal }) => {
    await sleep(timeoutMs ?? 0, signal);
    throw new DOMException('', 'TimeoutError');
  });
  await pass(60_000);
  json.mockRestore();
  for (let passed = 0; passed < 3 * DURATION_MS; passed += 1_000) {
    expect([first.lease.isHeld, second.lease.isHeld]).toEqual([true, false]);
    await pass(1_000);
  }
});
