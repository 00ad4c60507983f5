import { expect, test, vi } from 'vitest';
import { ALLOW_DELETION_ANNOTATION } from '../../src/api/annotations.ts';
import { DanglingReferenceDetector } from '../../src/status/dangling-reference-detector.ts';
import type { Fault } from '../support/faults.ts';
import { buildPool } from '../support/operator-objects.ts';
import type { ReplicaOptions } from './replica.ts';
import { startWorld, toNew, UNUSED, USED, VirtualWorld } from './world.ts';

const MISSING = `rendered-worker-${'9'.repeat(32)}`;

const override = ({ cluster }: VirtualWorld) => {
  const annotations = { [ALLOW_DELETION_ANNOTATION]: 'x' };
  for (const config of [USED, UNUSED]) cluster.patch('machineconfigs', config, { metadata: { annotations } });
};
const answer = (paths: RegExp, fault: Fault) => (world: VirtualWorld) => void world.answer(paths, fault);

test.each<[string, (world: VirtualWorld) => void, ReplicaOptions, string, RegExp]>([
  ['nodes that were not listed', answer(/nodes$/, 'hang'), {}, 'Ready', /^False Reading: no current list of nodes$/],
  [
    'the references of nodes that were not listed',
    answer(/nodes$/, 'hang'),
    {},
    'ReferencesConsistent',
    /^Unknown Reading: no current list of nodes$/,
  ],
  [
    'the restores of pools that were not listed',
    answer(/machineconfigpools$/, 'hang'),
    {},
    'RestoresComplete',
    /^Unknown Reading: no current list of machineconfigpools$/,
  ],
  [
    'MachineConfigs that were not listed',
    answer(/machineconfigs$/, 'hang'),
    {},
    'ReferencesConsistent',
    /^Unknown Reading: no current list of machineconfigs$/,
  ],
  [
    'MachineConfigs that the guard may not read',
    answer(/machineconfigs$/, { status: 403 }),
    {},
    'ReferencesConsistent',
    /^Unknown Forbidden: /,
  ],
  ['the annotation of a config in use', override, {}, 'OverridesUnused', /^False ConfigInUse: .*: rendered-worker-a+$/],
  [
    'an expired certificate',
    () => {},
    { certificateDays: -0.5 },
    'CertificatesValid',
    /^False Expired: serving until 2026-11-20 \(renew it at its issuer\)$/,
  ],
])('describes %s in a condition', async (_case, prepare, options, type, expected) => {
  const world = await VirtualWorld.start({ replicas: 0 });
  prepare(world);
  await world.addReplica({ isReady: false, ...options });
  await world.clock.pass(5_000);
  expect(world.findCondition(type)).toMatch(expected);
});

test('describes nodes that cannot be watched any more in a condition, until they can', async () => {
  const { world, clock } = await startWorld();
  const recover = world.answer(/nodes$/, { status: 403 });
  for (const watch of world.faults.watches) watch.end();
  await clock.pass(120_000);
  expect(world.findCondition('Ready')).toMatch(/^True Serving: /);
  await clock.pass(200_000);
  expect(world.findCondition('Ready')).toMatch(/^False Reading: no current list of nodes$/);
  recover();
  await clock.pass(40_000);
  expect(world.findCondition('Ready')).toMatch(/^True Serving: /);
});

test('of a new leader, never says that a missing config exists', async () => {
  const { world, clock, replica } = await startWorld();
  world.setNode('worker-1', MISSING);
  await clock.within(5_000, 'the status has it', () => world.guard?.status?.danglingCount === 2);
  await replica.end();
  const since = clock.seconds;
  const { name } = await world.addReplica();
  await clock.pass(10_000);
  const ofStatus = world.writes.filter(({ by, path, atSeconds }) => {
    return by === name && path.endsWith('/status') && atSeconds >= since;
  });
  expect(ofStatus.map(({ body }) => body['status'])).toEqual([expect.objectContaining({ danglingCount: 2 })]);
});

test('lists 50 of many dangling references, and describes three', async () => {
  const { world, clock } = await startWorld();
  for (let count = 0; count < 60; count += 1) {
    world.cluster.create('nodes', { metadata: { name: `w${count}` } });
    world.setNode(`w${count}`, MISSING);
  }
  await clock.within(5_000, 'the status has them', () => world.guard?.status?.danglingCount === 120);
  expect(world.guard?.status?.danglingReferences).toHaveLength(50);
  expect(world.findCondition('ReferencesConsistent')).toMatch(
    /^False DanglingReferences: 120 dangling references: Node w0 .*\. Node w0 .*\. Node w1 .*\. And 117 more$/,
  );
});

test.each<[string, Fault]>([
  [
    'the config',
    { status: 200, body: { metadata: { name: MISSING, uid: 'x', creationTimestamp: '2026-11-20T00:00:00Z' } } },
  ],
  ['404 without a reason', { status: 404 }],
  ['a reset', 'reset'],
  ['nothing', 'hang'],
])('a reference does not dangle while the answer to a GET of the config is %s', async (_case, fault) => {
  const { world, clock } = await startWorld();
  const recover = world.answer(/machineconfigs\/rendered-worker-9/, fault);
  world.setNode('worker-1', MISSING);
  await clock.pass(4_000);
  expect(world.guard?.status?.danglingCount).toBe(0);
  recover();
  // A GET that hangs ends after 5 s.
  await clock.within(8_000, 'the status has it', () => world.guard?.status?.danglingCount === 2);
});

test('an empty status of a pool is reported after 30 minutes, and at once if a node of the pool dangles', async () => {
  const { world, clock } = await startWorld();
  world.cluster.create('machineconfigpools', toNew(buildPool('infra', { spec: USED, ageMinutes: 29 }, world.apiNow)));
  const expectReported = async (count: number, explanation: string) => {
    await clock.within(4_000, explanation, () => world.guard?.status?.danglingCount === count);
    const empty = world.guard?.status?.danglingReferences?.find(({ name }) => name === 'infra');
    expect(empty?.explanation ?? '').toContain(explanation);
    expect(empty?.config ?? '').toBe('');
  };
  await clock.pass(3_000);
  await expectReported(0, '');
  world.apiClockOffsetMs = 60_000;
  await expectReported(1, 'not updated all machines within 30 minutes');
  world.apiClockOffsetMs = 0;
  await expectReported(0, '');
  world.setNode('worker-1', MISSING.replace('worker', 'infra'));
  await expectReported(3, 'booting machines get none');
});

test('a defect of a task is counted and logged, and the task runs again', async () => {
  const { world, clock, replica } = await startWorld();
  vi.spyOn(DanglingReferenceDetector.prototype, 'check').mockRejectedValueOnce(new Error('a defect'));
  world.setNode('worker-1', MISSING);
  await clock.within(6_000, 'the status has it', () => world.guard?.status?.danglingCount === 2);
  expect((await replica.scrape()).get('mcguard_task_failures_total{task="find dangling references"}')).toBe(1);
  expect(replica.lines).toContainEqual(
    expect.objectContaining({ msg: 'a background task failed; it runs again', task: 'find dangling references' }),
  );
});
