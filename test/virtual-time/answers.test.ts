import { expect, test } from 'vitest';
import { ALLOW_DELETION_ANNOTATION } from '../../src/api/annotations.ts';
import { findKind } from '../support/in-memory-cluster/kinds.ts';
import { buildNode } from '../support/operator-objects.ts';
import { expectRecovered } from './oracles.ts';
import { OTHER, startWorld, UNUSED, USED, type VirtualWorld } from './world.ts';

const SETTINGS = /machineconfigguards\/cluster$/;

/** The lists of all nodes since the start of the test. */
function countNodeLists({ faults }: VirtualWorld): number {
  const lists = faults.requests.filter(
    ({ path, isWatch, query }) => path.endsWith('/nodes') && !isWatch && query.size === 0,
  );
  return lists.length;
}

function overrideDeletion({ cluster }: VirtualWorld, config: string, reason: string): void {
  cluster.patch('machineconfigs', config, { metadata: { annotations: { [ALLOW_DELETION_ANNOTATION]: reason } } });
}

/** Answers the first list of all nodes like this. */
function answerNodeList({ faults }: VirtualWorld, answer: (respond: (version: string) => void) => void): void {
  const remove = faults.intercept(({ path, isWatch, query }) => {
    if (!path.endsWith('/nodes') || isWatch || query.size > 0) return 'pass';
    remove();
    const node = buildNode('worker-0', { current: USED }, new Date());
    return (response) =>
      answer((resourceVersion) =>
        response.end(
          JSON.stringify({ apiVersion: 'v1', kind: 'NodeList', metadata: { resourceVersion }, items: [node] }),
        ),
      );
  });
}

test.each<[string, (world: VirtualWorld) => void, string]>([
  [
    'a build has a reference that is no text',
    ({ cluster }) =>
      cluster.create('machineosbuilds', { metadata: { name: 'b' }, spec: { machineConfig: { name: 7 } } }),
    'machineosbuilds: spec.machineConfig.name of build b is not a string',
  ],
  [
    'pools have an unknown version',
    ({ faults }) => faults.servedVersions.set(findKind('machineconfigpools'), ['v2']),
    'machineconfigpools: the cluster serves machineconfigpools only as v2, which this version of the guard cannot read',
  ],
])('a replica is ready although %s, and denies what is not overridden', async (_case, prepare, problem) => {
  const { world } = await startWorld();
  prepare(world);
  const replica = await world.addReplica();
  expect((await replica.review(UNUSED)).message).toContain(`could not verify whether ${UNUSED} is in use (${problem})`);
  overrideDeletion(world, UNUSED, 'ticket 7');
  await world.clock.settle();
  expect(await replica.review(UNUSED)).toMatchObject({ allowed: true, code: 'MCG_OVERRIDDEN' });
});

test('while the API server is down, a reason in the annotation allows the deletion', async () => {
  const { world, replica } = await startWorld();
  overrideDeletion(world, USED, 'CHG-7\u202e\nforged');
  await world.clock.settle();
  world.network.refused.add(replica.name);
  world.network.reset(replica.name);
  const answer = await replica.review(USED);
  expect(answer).toMatchObject({ allowed: true, code: 'MCG_OVERRIDDEN', seconds: 0 });
  expect(JSON.stringify(answer.auditAnnotations)).toContain('CHG-7 forged');

  world.network.refused.clear();
  world.network.silent.add(replica.name);
  // As of a config that the watches have not delivered, which the guard looks up.
  const late = await replica.review(USED, { uid: 'new' });
  expect(late).toMatchObject({ allowed: true, code: 'MCG_OVERRIDDEN' });
  expect(late.seconds).toBeCloseTo(0.5, 1);
});

test('lists again if a list is older than what the watches had delivered before it', async () => {
  const { world, replica } = await startWorld();
  const before = countNodeLists(world);
  answerNodeList(world, (respond) => respond('1'));
  expect((await replica.review(UNUSED)).allowed).toBe(true);
  expect(countNodeLists(world)).toBe(before + 2);
});

test('accepts a list that is older than what the watches have delivered since its request', async () => {
  const { world, replica } = await startWorld();
  const before = countNodeLists(world);
  const version = String(world.cluster.version);
  answerNodeList(world, (respond) => {
    world.setNode('worker-1', OTHER);
    setTimeout(() => respond(version), 500);
  });
  expect((await replica.review(UNUSED)).allowed).toBe(true);
  expect(countNodeLists(world)).toBe(before + 1);
});

test('lists all nodes if the referrer does not answer within 1,250 ms', async () => {
  const { world, replica } = await startWorld();
  const before = countNodeLists(world);
  world.answer(/\/nodes\/worker-0$/, 'hang');
  const answer = await replica.review(USED);
  expect(answer.code).toBe('MCG_IN_USE');
  expect(answer.seconds).toBeCloseTo(1.26, 1);
  expect(countNodeLists(world)).toBe(before + 1);
});

test('names the reference that a GET has confirmed, and not what the watch delivered before', async () => {
  const { world, replica } = await startWorld();
  const body = { apiVersion: 'v1', kind: 'Node', ...buildNode('worker-0', { desired: USED }, new Date()) };
  world.answer(/\/nodes\/worker-0$/, { status: 200, body });
  expect((await replica.review(USED)).message).toContain(
    '(worker-0 desiredConfig, worker-1 currentConfig+desiredConfig',
  );
});

test('knows when configs were created, because nothing else dates a pool without managedFields', async () => {
  const { world, replica } = await startWorld();
  world.setGuardSpec({ holdSuperseded: null });
  world.cluster.patch('machineconfigpools', 'worker', {
    metadata: { managedFields: null },
    status: { conditions: null },
  });
  await world.clock.pass(2_000);
  expect((await replica.review(UNUSED)).allowed).toBe(true);
});

test.each([
  [500, 'securePort'],
  [100, 'metricsPort'],
  [100, 'healthPort'],
] as const)('keeps %i connections on the %s, of which the oldest without a request closes', async (max, port) => {
  const { world, replica } = await startWorld();
  const sockets = Array.from({ length: max + 1 }, () => replica.connectTo(port));
  await world.clock.settle();
  expect(sockets.map(({ peer }) => peer.destroyed)).toEqual([true, ...Array<boolean>(max).fill(false)]);
  expect((await replica.review(USED)).code).toBe('MCG_IN_USE');
});

test('denies a body of more than 4 MiB without reading it', async () => {
  const { clock, replica } = await startWorld();
  const { socket } = replica.connectTls('securePort');
  const received: string[] = [];
  socket.setEncoding('utf8').on('data', (part: string) => received.push(part));
  socket.write(`POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: ${4 * 1024 * 1024 + 1}\r\n\r\n`);
  await clock.settle();
  expect(received.join('')).toContain('MCG_BAD_REVIEW: the request body is larger than 4 MiB');
});

test('reads the settings again after one of their reads hangs for 5 s', async () => {
  const { world, clock, replica } = await startWorld();
  const recover = world.answer(SETTINGS, 'hang');
  await clock.pass(1_500);
  recover();
  world.setGuardSpec({ mode: 'Warn' });
  await clock.pass(6_000);
  expect((await replica.review(USED)).code).toBe('MCG_WOULD_DENY');
});

test.each([
  ['404 without a reason, as of a proxy', { status: 404 }],
  ['an object of another kind', { status: 200, body: { kind: 'Status', status: 'Success' } }],
])('the mode stays while the answer to its read is %s', async (_case, fault) => {
  const { world, clock, replica } = await startWorld();
  world.setGuardSpec({ mode: 'Warn' });
  await clock.pass(2_000);
  world.answer(SETTINGS, fault);
  await clock.pass(5_000);
  expect((await replica.review(USED)).code).toBe('MCG_WOULD_DENY');
  const problems = replica.messages().filter((text) => text.startsWith('cannot read machineconfigguard cluster: '));
  expect(problems).toEqual([expect.stringMatching(/; keeping mode Warn$/)]);
});

test('each mode applies within 2 s, and Enforce without the object, which the guard creates, or its CRD', async () => {
  const initialSpec = { holdSuperseded: '1h' };
  const { world, clock, replica } = await startWorld({ initialSpec });
  const expectMode = async (code: string) => {
    await clock.pass(2_000);
    expect((await replica.review(USED)).code).toBe(code);
  };
  world.setGuardSpec({ mode: 'Disabled' });
  await expectMode('MCG_DISABLED');
  world.cluster.erase('machineconfigguards', 'cluster');
  await expectMode('MCG_IN_USE');
  expect(world.guard?.spec).toEqual(initialSpec);
  world.setGuardSpec({ mode: 'Off', holdSuperseded: 'soon' });
  await expectMode('MCG_IN_USE');
  world.setGuardSpec({ mode: 'Disabled', holdSuperseded: '0s' });
  await expectMode('MCG_DISABLED');
  const restore = world.faults.servedVersions.get(findKind('machineconfigguards')) ?? [];
  world.faults.servedVersions.set(findKind('machineconfigguards'), []);
  await clock.pass(10_000);
  await expectMode('MCG_IN_USE');
  const problems = replica.messages().filter((text) => text.includes('does not serve machineconfigguards'));
  expect(problems).toHaveLength(1);
  world.faults.servedVersions.set(findKind('machineconfigguards'), restore);
  world.setGuardSpec({ mode: null });
  await expectRecovered(world);
});
