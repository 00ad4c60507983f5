import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import type { SeenRequest } from '../support/faults.ts';
import { findKind } from '../support/in-memory-cluster/kinds.ts';
import { expectRecorded, expectRecovered, expectRight } from './oracles.ts';
import type { VirtualReplica } from './replica.ts';
import { OTHER, startWorld, UNUSED, USED } from './world.ts';

const LISTS = /\/(?:nodes|machineconfigpools|machineosbuilds)$/;
const SETTINGS = /machineconfigguards\/cluster$/;

/** The object that the guard has written can itself be one of the backup. */
async function expectProtectedConfigs(replica: VirtualReplica, count: number): Promise<void> {
  expect((await replica.scrape()).get('mcguard_protected_configs')).toBe(count);
}

test('without a fault, nothing is listed or logged again, and each watch is checked every 38 s', async () => {
  const { world, replica, clock } = await startWorld();
  const [requests, lines] = [world.faults.requests.length, replica.lines.length];
  await clock.pass(95_000);
  const reads = world.faults.requests.slice(requests).filter(({ path, isWatch }) => LISTS.test(path) && !isWatch);
  const checks = reads.filter(({ query }) => query.has('limit'));
  expect(reads).toEqual(checks);
  for (const kind of ['nodes', 'machineconfigpools', 'machineosbuilds'])
    expect(checks.filter(({ path }) => path.endsWith(kind)).length).toBeGreaterThanOrEqual(2);
  expect(replica.lines.slice(lines)).toEqual([]);
  await expectRecovered(world);
});

test('if all connections are dead without a sign, a deletion is allowed within 2 s on new ones', async () => {
  const { world, replica } = await startWorld();
  // Two live reads at a time leave connections for both.
  const recover = world.answer(/nodes$/, 'hang');
  await replica.review(UNUSED);
  recover();
  await replica.reviewAll([UNUSED, UNUSED]);
  world.network.freeze(replica.name);
  const answer = await replica.review(UNUSED);
  expect(answer).toMatchObject({ code: 'MCG_NOT_IN_USE' });
  expect(answer.seconds).toBeLessThan(2);
});

test('while the API server hangs, a review is answered after 3.8 s, and the connections continue', async () => {
  const { world, replica } = await startWorld();
  world.network.freeze(replica.name);
  world.network.silent.add(replica.name);
  for (const config of [USED, UNUSED]) {
    const answer = await replica.review(config);
    expectRight(answer);
    expect(answer.code).toBe('MCG_UNVERIFIED');
  }
  expect(await replica.probe()).toBe('200 ok');
  world.network.silent.clear();
  world.network.thaw(replica.name);
  await expectRecovered(world);
  await expectRecorded(replica);
});

test('a watch that is silent without bookmarks is opened again after 90 s, and lists what it has missed', async () => {
  const { world, replica, clock } = await startWorld();
  for (const watch of world.faults.watches) watch.cork();
  await clock.pass(60_000);
  world.cluster.create('nodes', { metadata: { name: 'worker-9' } });
  world.setNode('worker-9', OTHER);
  expect((await replica.review(OTHER)).code).toBe('MCG_IN_USE');
  await clock.within(45_000, 'the index has the new node', () => world.guard?.status?.protectedConfigs === 2);
  world.cluster.erase('nodes', 'worker-9');
  expect(replica.messages()).toContain('cannot watch nodes: the watch has been silent for 90 s');
  await expectRecovered(world);
});

test('after a restore of etcd, the index follows the restored objects within 38 s', async () => {
  const { world, replica, clock } = await startWorld();
  await clock.pass(2_000);
  const backup = world.cluster.version;
  // Otherwise the guard's own writes would make the versions of the restored cluster newer.
  for (let count = 0; count < 500; count += 1) world.setNode('worker-1', OTHER);
  await clock.within(5_000, 'the status has the other config', () => world.guard?.status?.protectedConfigs === 2);
  world.cluster.restore(backup);
  expect((await replica.review(OTHER)).code).toMatch(/^MCG_(?:NOT_IN_USE|UNVERIFIED)$/);
  await clock.eventually(42_000, async () => await expectProtectedConfigs(replica, 1));
  await expectRecovered(world);
});

test('after an outage, in which the versions of a restored etcd overtook the watch, it lists again', async () => {
  const { world, replica, clock } = await startWorld();
  const backup = world.cluster.version;
  for (let count = 0; count < 3; count += 1) world.setNode('worker-1', count % 2 === 0 ? OTHER : USED);
  await clock.pass(2_000);
  world.network.refused.add(replica.name);
  world.network.reset(replica.name);
  await clock.pass(95_000);
  world.cluster.restore(backup);
  for (let count = 0; count < 40; count += 1) world.setNode('worker-0', USED);
  world.network.refused.clear();
  // After the longest pause the watch is checked, and after another one it lists.
  await clock.eventually(65_000, async () => await expectProtectedConfigs(replica, 1));
  await expectRecovered(world);
});

test('a mode that cannot be read applies for 15 s, and then Enforce', async () => {
  const { world, replica, clock } = await startWorld();
  world.setGuardSpec({ mode: 'Audit' });
  await clock.pass(2_000);
  expect((await replica.review(USED)).allowed).toBe(true);
  const recover = world.answer(SETTINGS, { status: 500 });
  await clock.pass(13_500);
  expect((await replica.review(USED)).allowed).toBe(true);
  await clock.pass(3_500);
  const answer = await replica.review(USED);
  expect(answer.code).toBe('MCG_IN_USE');
  expect(answer.message).toContain('The mode Audit cannot be read at present, so Enforce applies.');
  expect(world.findCondition('Ready')).toBe(
    'False SettingsUnreadable: the MachineConfigGuard cannot be read, so mode Enforce applies (last read: Audit)',
  );
  const series = await replica.scrape();
  expect(series.get('mcguard_mode{mode="Enforce"}')).toBe(1);
  expect(series.get('mcguard_index_age_seconds{resource="machineconfigguards"}')).toBeGreaterThan(15);
  recover();
  world.setGuardSpec({ mode: 'Enforce' });
  await clock.pass(2_000);
  await expectRecovered(world);
  await expectRecorded(replica);
});

test('after the sleep of a virtual machine, a mode does not allow, and no list is current', async () => {
  const { world, replica, clock } = await startWorld();
  world.setGuardSpec({ mode: 'Disabled' });
  await clock.pass(2_000);
  expect((await replica.review(USED)).allowed).toBe(true);
  clock.skip(3_600_000);
  for (const [name, seconds] of await replica.scrape())
    if (name.startsWith('mcguard_index_age_seconds')) expect(seconds, name).toBeGreaterThan(3_600);
  // Somebody has changed it meanwhile.
  world.setGuardSpec({ mode: 'Enforce' });
  expect((await replica.review(USED)).code).toBe('MCG_IN_USE');
  world.setGuardSpec({ mode: 'Disabled' });
  await clock.pass(2_000);
  expect((await replica.review(USED)).allowed).toBe(true);
});

test('a deletion is allowed after a discovery that hung, if the API server waits for so long', async () => {
  const { world, replica, clock } = await startWorld();
  world.faults.servedVersions.set(findKind('machineosbuilds'), []);
  for (const watch of world.faults.watches) watch.end();
  await clock.pass(2_000);
  const recover = world.answer(/^\/apis$/, 'hang');
  const answer = replica.sendReview(UNUSED, { timeout: '30s' });
  await clock.pass(4_500);
  recover();
  expect(await clock.await(20_000, 'an answer', answer)).toMatchObject({ code: 'MCG_NOT_IN_USE' });
});

test('an object that the guard cannot read denies what is unused, until it is repaired', async () => {
  const { world, replica, clock } = await startWorld();
  world.setNode('worker-2', 7 as unknown as string);
  await clock.within(5_000, 'the condition Ready is False', () =>
    world.findCondition('Ready').startsWith('False Unreadable: nodes: annotation currentConfig of node worker-2'),
  );
  expect((await replica.review(UNUSED)).code).toBe('MCG_UNVERIFIED');
  expect((await replica.review(USED)).code).toBe('MCG_IN_USE');
  await clock.pass(10_000);
  const problem = 'annotation currentConfig of node worker-2 is not a string';
  expect(replica.messages().filter((message) => message.endsWith(problem))).toEqual([
    `listing again: a watch event has an unreadable object: ${problem}`,
    `cannot watch nodes: ${problem}`,
  ]);
  expect((await replica.scrape()).get('mcguard_index_age_seconds{resource="nodes"}')).toBeGreaterThan(10);
  world.setNode('worker-2', USED);
  await expectRecovered(world);
  expect(replica.messages()).toContain('watching nodes again');
});

test('a kind whose CRD is created later is watched within 6 s', async () => {
  const { world, clock } = await startWorld();
  const kind = findKind('machineosbuilds');
  const { servedVersions, requests, watches } = world.faults;
  const versions = servedVersions.get(kind) ?? [];
  servedVersions.set(kind, []);
  for (const watch of watches) watch.end();
  await clock.pass(20_000);
  servedVersions.set(kind, versions);
  const before = requests.length;
  const isWatch = (request: SeenRequest) => request.isWatch && request.path.endsWith('/machineosbuilds');
  await clock.pass(6_000);
  expect(requests.slice(before).filter(isWatch)).toHaveLength(1);
});

test('the MachineConfigGuard is created again, and every 10 s if that fails', async () => {
  const { world, clock, replica } = await startWorld();
  const recover = world.faults.intercept(({ method }) => (method === 'POST' ? { status: 500 } : 'pass'));
  const isAttempt = ({ method, path }: SeenRequest) => method === 'POST' && path.endsWith('/machineconfigguards');
  const countAttempts = () => world.faults.requests.filter(isAttempt).length;
  const before = countAttempts();
  world.cluster.erase('machineconfigguards', 'cluster');
  await clock.pass(9_000);
  expect(countAttempts() - before).toBe(1);
  recover();
  await clock.within(4_000, 'it exists', () => world.guard !== undefined);
  await clock.pass(2_000);
  world.faults.intercept(({ method }) => (method === 'POST' ? { status: 500 } : 'pass'));
  world.cluster.erase('machineconfigguards', 'cluster');
  await clock.pass(3_000);
  const failures = replica.messages().filter((message) => message.startsWith('cannot create machineconfigguard'));
  expect(failures).toHaveLength(2);
});

/** Returns how to count the listeners on all signals that have not aborted. */
function spyOnListeners(): () => number {
  const { mock } = vi.spyOn(EventTarget.prototype, 'addEventListener');
  return () => {
    const signals = mock.contexts.filter((target) => target instanceof AbortSignal);
    const waiting = [...new Set(signals)].filter(({ aborted }) => !aborted);
    return waiting.flatMap((signal) => getEventListeners(signal, 'abort')).length;
  };
}

test('watches and reviews leave neither a timer nor a listener', async () => {
  const { world, replica, clock } = await startWorld();
  const countListeners = spyOnListeners();
  const listeners: number[] = [];
  for (let count = 0; count < 4; count += 1) {
    for (const watch of world.faults.watches) watch.end();
    for (const config of [USED, UNUSED]) await replica.review(config);
    await clock.pass(60_000);
    listeners.push(countListeners());
  }
  expect(new Set(listeners).size).toBe(1);
  // In this mode a review needs no request, which would have timers.
  world.setGuardSpec({ mode: 'Disabled' });
  await clock.pass(2_000);
  const countTimersAfterReview = async () => {
    await replica.review(USED);
    return vi.getTimerCount();
  };
  expect(await countTimersAfterReview()).toBe(await countTimersAfterReview());
});

test('a revoked token is read again, and no review notices', async () => {
  const { world, replica } = await startWorld();
  world.faults.revokeTokens();
  expect((await replica.review(UNUSED)).allowed).toBe(true);
  await expectRecovered(world);
  expect(replica.lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
});
