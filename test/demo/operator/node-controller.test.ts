import { expect, test } from 'vitest';
import { planRollout } from '../../../src/demo/operator/node-controller.ts';
import type { NodeView } from '../../../src/demo/operator/nodes.ts';
import { buildStatusPatch, computePoolStatus, parsePool } from '../../../src/demo/operator/pool.ts';

const POOL = parsePool({ spec: { configuration: { name: 'new' } } });

function createNode(name: string, change: Partial<NodeView> = {}): NodeView {
  return { name, current: 'old', desired: 'old', state: 'Done', reason: '', ready: true, ...change };
}

const [A, B] = [createNode('a'), createNode('b')];

test('updates one outdated node at a time', () => {
  expect(planRollout(POOL, [A, B])).toEqual({ candidates: [A] });
  const updating = createNode('a', { desired: 'new', state: 'Working' });
  expect(planRollout(POOL, [updating, B])).toEqual({ candidates: [] });
  const booting = createNode('a', { current: 'new', desired: 'new', ready: false });
  expect(planRollout(POOL, [booting, B])).toEqual({ candidates: [] });
});

test('updates more nodes if maxUnavailable allows it', () => {
  expect(planRollout({ ...POOL, maxUnavailable: 2 }, [A, B]).candidates).toEqual([A, B]);
});

test('updates no node of a paused pool', () => {
  expect(planRollout({ ...POOL, isPaused: true }, [A, B])).toEqual({ candidates: [] });
});

test('counts a Degraded node as unavailable if its current config is the desired one', () => {
  const degraded = [A, B].map((node) => ({ ...node, state: 'Degraded' as const }));
  expect(planRollout(POOL, degraded)).toEqual({
    candidates: [],
    report: 'No capacity left (unavail=2 >= maxUnavailable=1): a and b Degraded',
  });
});

test('counts a node that fails on the new config against maxUnavailable', () => {
  const failing = createNode('a', { desired: 'new', state: 'Degraded' });
  expect(planRollout(POOL, [failing, B]).candidates).toEqual([]);
  expect(planRollout({ ...POOL, maxUnavailable: 2 }, [failing, B]).candidates).toEqual([B]);
});

test('sets the config of the status only when all machines run that of the spec and are Ready', () => {
  const updated = [A, B].map((node) => ({ ...node, current: 'new', desired: 'new' }));
  expect(computePoolStatus(POOL, updated)).toEqual({
    machineCount: 2,
    updatedMachineCount: 2,
    readyMachineCount: 2,
    unavailableMachineCount: 0,
    degradedMachineCount: 0,
    configuration: 'new',
  });
  const [first, second] = updated as [NodeView, NodeView];
  expect(computePoolStatus(POOL, [first, { ...second, ready: false }])).toMatchObject({
    updatedMachineCount: 2,
    readyMachineCount: 1,
    configuration: '',
  });
  const { status } = POOL;
  const patched = { ...POOL, status: { ...status, configuration: 'old' } };
  expect(computePoolStatus(patched, [first, B])).toMatchObject({
    updatedMachineCount: 1,
    configuration: 'old',
  });
});

test('writes the condition Updated and the config of the status only when they change', () => {
  const status = computePoolStatus(POOL, [{ ...A, current: 'new', desired: 'new' }]);
  const changes = {
    configuration: { name: 'new' },
    conditions: [{ type: 'Updated', status: 'True', lastTransitionTime: expect.any(String) as string }],
  };
  expect(buildStatusPatch(POOL, status)).toMatchObject(changes);
  const patch = buildStatusPatch({ ...POOL, status, isUpdated: true }, status);
  expect(Object.keys(changes).filter((key) => key in patch)).toEqual([]);
  const updating = computePoolStatus(POOL, [A]);
  expect(buildStatusPatch({ ...POOL, isUpdated: true }, updating)).toMatchObject({
    conditions: [{ type: 'Updated', status: 'False' }],
  });
});
