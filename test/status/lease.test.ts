import { expect, onTestFinished, test } from 'vitest';
import { InMemoryCluster } from '../../src/demo/cluster/in-memory-cluster.ts';
import { ApiUnreachable } from '../../src/kube/errors.ts';
import { Lease, type LeaseTiming } from '../../src/status/lease.ts';
import { InProcessApi } from '../support/in-process-api.ts';
import { memoryLog } from '../support/log.ts';

/** A Lease that does not expire during a test. */
const LONG: LeaseTiming = { durationMs: 60_000, retryMs: 10 };
const SHORT: LeaseTiming = { durationMs: 150, retryMs: 10 };

function runReplica(api: InProcessApi, identity: string, timing: LeaseTiming) {
  const { log, lines } = memoryLog();
  const lease = new Lease({ api, namespace: 'ns', name: 'guard', identity, log, timing });
  const stop = new AbortController();
  const running = lease.run(stop.signal);
  const end = async () => {
    stop.abort();
    await running;
  };
  onTestFinished(end);
  return { lease, end, lines };
}

function specOf(cluster: InMemoryCluster): unknown {
  return cluster.get('leases', 'guard', 'ns')?.['spec'];
}

test('one of several replicas holds the Lease, and keeps it', async () => {
  const cluster = new InMemoryCluster();
  const api = new InProcessApi(cluster);
  const leases = ['a', 'b', 'c'].map((identity) => runReplica(api, identity, LONG).lease);
  const holders = () => leases.filter(({ isHeld }) => isHeld);
  await expect.poll(holders).toHaveLength(1);
  const [first] = holders();
  for (let count = 0; count < 20; count += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(holders()).toEqual([first]);
  }
  expect(specOf(cluster)).toMatchObject({ leaseTransitions: 1 });
});

test('a replica that stops releases the Lease, and another acquires it before it expires', async () => {
  const cluster = new InMemoryCluster();
  const api = new InProcessApi(cluster);
  const first = runReplica(api, 'a', LONG);
  await expect.poll(() => first.lease.isHeld).toBe(true);
  await first.end();
  expect(first.lease.isHeld).toBe(false);
  expect(specOf(cluster)).toMatchObject({ holderIdentity: '' });
  const second = runReplica(api, 'b', LONG);
  await expect.poll(() => second.lease.isHeld).toBe(true);
});

test('a replica acquires the Lease of a dead holder after its duration, and not before', async () => {
  const cluster = new InMemoryCluster();
  const spec = { holderIdentity: 'dead', leaseTransitions: 4 };
  cluster.create('leases', { metadata: { name: 'guard', namespace: 'ns' }, spec });
  const startedAt = performance.now();
  const { lease } = runReplica(new InProcessApi(cluster), 'b', SHORT);
  await expect.poll(() => lease.isHeld, { interval: 5 }).toBe(true);
  expect(performance.now() - startedAt).toBeGreaterThan(SHORT.durationMs);
  expect(specOf(cluster)).toMatchObject({ holderIdentity: 'b', leaseTransitions: 5 });
});

test('the next process of a replica acquires its Lease at once', async () => {
  const cluster = new InMemoryCluster();
  const spec = { holderIdentity: 'a', leaseTransitions: 4 };
  cluster.create('leases', { metadata: { name: 'guard', namespace: 'ns' }, spec });
  const { lease } = runReplica(new InProcessApi(cluster), 'a', LONG);
  await expect.poll(() => lease.isHeld).toBe(true);
  expect(specOf(cluster)).toMatchObject({ holderIdentity: 'a', leaseTransitions: 4 });
});

test('a replica that cannot renew the Lease loses it, logs the reason once, and recovers', async () => {
  const api = new InProcessApi(new InMemoryCluster());
  const { lease, lines } = runReplica(api, 'a', SHORT);
  await expect.poll(() => lease.isHeld).toBe(true);
  api.failure = new ApiUnreachable('unreachable');
  await expect.poll(() => lease.isHeld).toBe(false);
  expect(lines.filter(({ level }) => level === 40)).toHaveLength(1);
  api.failure = undefined;
  await expect.poll(() => lease.isHeld).toBe(true);
});

test('a replica acquires a Lease whose transitions have reached their maximum', async () => {
  const cluster = new InMemoryCluster();
  const spec = { holderIdentity: '', leaseTransitions: 2 ** 31 - 1 };
  cluster.create('leases', { metadata: { name: 'guard', namespace: 'ns' }, spec });
  const { lease } = runReplica(new InProcessApi(cluster), 'a', LONG);
  await expect.poll(() => lease.isHeld).toBe(true);
  expect(specOf(cluster)).toMatchObject({ holderIdentity: 'a', leaseTransitions: 0 });
});
