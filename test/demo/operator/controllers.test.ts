import { expect, test } from 'vitest';
import { planRollout } from '../../../src/demo/operator/controllers.ts';
import type { NodeView } from '../../../src/demo/operator/node.ts';
import { parsePool, planStatus } from '../../../src/demo/operator/pool.ts';

const POOL = parsePool({ spec: { configuration: { name: 'new' } } });

function createNode(name: string, change: Partial<NodeView> = {}): NodeView {
  const drains = { desiredDrain: '', lastAppliedDrain: '' };
  const configs = { currentConfig: 'old', desiredConfig: 'old' };
  return { name, ...configs, ...drains, state: 'Done', reason: '', ready: true, ...change };
}

const [A, B] = [createNode('a'), createNode('b')];
const NEW = { currentConfig: 'new', desiredConfig: 'new' } as const;

test('updates one outdated node at a time, and none of a paused pool', () => {
  expect(planRollout(POOL, [A, B])).toEqual(A);
  expect(planRollout({ ...POOL, isPaused: true }, [A, B])).toBeUndefined();
  const updating = createNode('a', { desiredConfig: 'new', state: 'Working' });
  expect(planRollout(POOL, [updating, B])).toBeUndefined();
  expect(planRollout(POOL, [createNode('a', { ...NEW, ready: false }), B])).toBeUndefined();
});

test('reports Degraded nodes, which use up maxUnavailable', () => {
  const nodes = [A, B].map((node) => ({ ...node, state: 'Degraded' as const }));
  const report = 'No capacity left (unavail=2 >= maxUnavailable=1): a and b Degraded';
  expect(planRollout(POOL, nodes)).toBe(report);
});

test('sets the config of the status only when all machines run that of the spec and are Ready', () => {
  const counts = { machineCount: 2, unavailableMachineCount: 0, degradedMachineCount: 0 };
  const isTrue = [expect.objectContaining({ type: 'Updated', status: 'True' })];
  expect(planStatus(POOL, [createNode('a', NEW), createNode('b', NEW)])).toEqual({
    ...counts,
    updatedMachineCount: 2,
    readyMachineCount: 2,
    configuration: expect.objectContaining({ name: 'new' }) as object,
    conditions: isTrue,
  });
  const booting = planStatus(POOL, [createNode('a', NEW), createNode('b', { ...NEW, ready: false })]);
  expect(booting).toMatchObject({ updatedMachineCount: 2, readyMachineCount: 1, unavailableMachineCount: 1 });
  expect(booting).not.toHaveProperty('configuration');
});

test('writes only what changes in the status', () => {
  const counts = { machineCount: 1, updatedMachineCount: 1, readyMachineCount: 1 };
  const status = { ...counts, unavailableMachineCount: 0, degradedMachineCount: 0, configuration: 'new' };
  const pool = { ...POOL, status, updated: 'True' };
  expect(planStatus(pool, [createNode('a', NEW)])).toBeUndefined();
  const changes = planStatus(pool, [A]);
  expect(changes).toMatchObject({ updatedMachineCount: 0, conditions: [{ type: 'Updated', status: 'False' }] });
  expect(changes).not.toHaveProperty('configuration');
});
