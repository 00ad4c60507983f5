import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { MCO_GROUP } from '../../src/mco/api-paths.ts';
import type { VirtualReplica } from './replica.ts';
import { startWorld, UNUSED, USED, type VirtualWorld } from './world.ts';

const LEASES = /\/leases\b/;

/** The replica cannot reach the API server, and cannot release the Lease. */
function isolate({ network }: VirtualWorld, { name }: VirtualReplica): void {
  network.refused.add(name);
  network.reset(name);
}

/** The replicas that have written the conditions since a time, in seconds. */
function findStatusWriters({ writes }: VirtualWorld, since: number): readonly string[] {
  const ofStatus = writes.filter(
    ({ path, body }) => path.endsWith('/status') && 'conditions' in (body['status'] as object),
  );
  return [...new Set(ofStatus.filter(({ atSeconds }) => atSeconds >= since).map(({ by }) => by))];
}

/** A guard of two replicas: the leader and the other one. */
async function startReplicas() {
  const { world, clock, replica, second } = await startWorld({ replicas: 2 });
  const [leader, other] = findLeader(world) === replica.name ? [replica, second] : [second, replica];
  return { world, clock, leader, other };
}

function findLeader(world: VirtualWorld): string | undefined {
  return world.writes.findLast(({ path, body }) => LEASES.test(path) && readHolder(body) !== '')?.by;
}

function readHolder(body: Readonly<Record<string, unknown>>): string {
  return (body['spec'] as { readonly holderIdentity: string }).holderIdentity;
}

test('of two replicas, only the leader writes the status', async () => {
  const { world, clock, leader, other } = await startReplicas();
  const since = clock.seconds;
  // Both have something to write.
  for (const each of [leader, other]) await each.review(USED, { user: each.name });
  world.setGuardSpec({ holdSuperseded: '1h' });
  await clock.pass(30_000);
  expect(findStatusWriters(world, since)).toEqual([leader.name]);
  expect(world.leaseHolder).toContain(`${hostname()}_`);
});

test('if the leader cannot reach the API server for a minute, it stays the leader', async () => {
  const { world, clock, leader } = await startReplicas();
  const countRenewals = () => world.writes.filter(({ path }) => LEASES.test(path)).length;
  const before = countRenewals();
  await clock.within(27_000, 'a renewal', () => countRenewals() > before);
  // The next renewal is due in a second.
  await clock.pass(25_000);
  isolate(world, leader);
  await clock.pass(60_000);
  world.network.refused.clear();
  const since = clock.seconds;
  // Before the next renewal.
  world.setGuardSpec({ holdSuperseded: '2h' });
  await clock.pass(5_000);
  expect(findStatusWriters(world, since)).toEqual([leader.name]);
  // Each replica sees within 26 s who holds the Lease.
  await clock.pass(30_000);
  world.setGuardSpec({ holdSuperseded: '1h' });
  await clock.pass(3_000);
  expect(findStatusWriters(world, since)).toEqual([leader.name]);
});

test('if the leader is lost, the other replica takes over within 3 minutes, and writes the status alone', async () => {
  const { world, clock, leader, other } = await startReplicas();
  isolate(world, leader);
  await clock.pass(110_000);
  expect(findLeader(world)).toBe(leader.name);
  await clock.within(70_000, 'the other replica is the leader', () => findLeader(world) === other.name);
  const since = clock.seconds;
  world.network.refused.clear();
  world.setGuardSpec({ holdSuperseded: '1h' });
  await clock.pass(3_000);
  expect(findStatusWriters(world, since)).toEqual([other.name]);
});

test('a replica that stops serves for 5 s, sends clients to the other one, and hands over the Lease', async () => {
  const { world, clock, leader: stopping, other } = await startReplicas();
  expect((await stopping.review(USED)).connection).toBe('keep-alive');
  stopping.stop();
  await clock.pass(4_000);
  expect(await stopping.probe()).toBe('503 stopping');
  expect(await stopping.probe('/healthz')).toBe('200 ok');
  expect(await stopping.review(USED)).toMatchObject({ code: 'MCG_IN_USE', connection: 'close' });
  world.setGuardSpec({ mode: 'Audit' });
  await clock.within(3_000, 'it ends', stopping.isEnded);
  expect(stopping.messages()).toContain('mode is Audit');
  expect(world.leaseHolder).toBe('');
  await clock.within(26_500, 'the other one is the leader', () => findLeader(world) === other.name);
});

test('a stop ends within 21 s, although an answer, an Event, a scrape, the status and the Lease wait', async () => {
  const { world, clock, replica } = await startWorld();
  world.answer(/leases|tokenreviews|\/nodes$|events$|status$/, 'hang');
  world.setGuardSpec({ holdSuperseded: '1h' });
  replica.stop();
  await clock.pass(4_900);
  // Both wait longer than the guard.
  void replica.sendReview(USED, { user: 'other' }).catch(() => {});
  void replica.sendReview(UNUSED, { timeout: '30s' }).catch(() => {});
  const last = replica.sendReview(UNUSED);
  await clock.pass(17_000);
  expect(replica.isEnded()).toBe(true);
  expect((await last).code).toBe('MCG_UNVERIFIED');
});

test('a stop waits for the last answer, and then for its Event', async () => {
  const { world, clock, replica } = await startWorld();
  world.faults.intercept(({ path }) => {
    // Without the node, a list decides.
    if (!/\/(?:events|nodes\/.*)$/.test(path)) return 'pass';
    return (response) => setTimeout(() => response.writeHead(201).end('{}'), 1_000);
  });
  replica.stop();
  await clock.pass(4_990);
  await replica.review(USED);
  await clock.pass(900);
  expect(replica.isEnded()).toBe(false);
  await clock.pass(200);
  expect(replica.isEnded()).toBe(true);
});

test('a replica is not ready, and denies, until it has read the settings and every reference', async () => {
  const { world, clock } = await startWorld();
  const settings = world.answer(/machineconfigguards\/cluster$/, { status: 500 });
  const nodes = world.answer(/\/nodes$/, { status: 403 });
  const late = await world.addReplica({ isReady: false });
  await clock.pass(2_000);
  expect(await late.probe()).toBe('503 not listed yet: nodes');
  expect(await late.probe('/healthz')).toBe('200 ok');
  nodes();
  await clock.pass(5_000);
  expect(await late.probe()).toBe('503 machineconfigguard not read yet');
  expect((await late.review(UNUSED)).code).toBe('MCG_UNVERIFIED');
  settings();
  await clock.within(2_000, 'it is ready', () => late.messages().includes('ready'));
  expect((await late.review(UNUSED)).allowed).toBe(true);
});

test('a list may take 55 s, and a review that comes before it waits a second', async () => {
  const { world, clock } = await startWorld();
  world.faults.intercept(({ path, query, isWatch }) => {
    if (!path.endsWith('machineosbuilds') || isWatch || query.has('limit')) return 'pass';
    const list = {
      apiVersion: `${MCO_GROUP}/v1`,
      kind: 'MachineOSBuildList',
      metadata: { resourceVersion: '1' },
      items: [],
    };
    return (response) => setTimeout(() => response.end(JSON.stringify(list)), 55_000);
  });
  const late = await world.addReplica({ isReady: false });
  const answer = await late.review(USED);
  expect(answer.code).toBe('MCG_IN_USE');
  expect(answer.seconds).toBeCloseTo(1, 1);
  await clock.within(55_000, 'it is ready', () => late.messages().includes('ready'));
});
