import { expect, test } from 'vitest';
import { toConfigName } from '../../../src/decision/config-name.ts';
import { planRestore, type StepAction } from '../../../src/cli/restore/restore-plan.ts';
import type { RestoreState } from '../../../src/cli/restore/restore-state.ts';
import { inspectedNode, inspectedPool, names } from '../check/snapshot.ts';
import { createConfigOnDisk } from '../../support/config-on-disk.ts';

const { name: MISSING, config: CONFIG } = createConfigOnDisk();
const CONTENT = { config: CONFIG };
const { name: RENDERED } = createConfigOnDisk();
const { name: GONE } = createConfigOnDisk();
const STUCK = { current: MISSING, desired: MISSING, role: 'master', state: 'Degraded' };
const OPTIONS = { name: undefined, acceptContent: false, restoredNames: new Set([MISSING]) };

interface Situation {
  readonly spec?: string;
  readonly status?: string;
  readonly updated?: number;
  readonly masters?: number;
  readonly replicas?: number;
  readonly paused?: boolean;
  readonly pausedFor?: string;
  readonly exists?: boolean;
}

function createState(situation: Situation): RestoreState {
  const { spec = RENDERED, status, updated = 0, masters = 3, replicas = 3, exists = false } = situation;
  const pool = {
    ...inspectedPool('master', { spec, status }),
    uid: 'uid',
    resourceVersion: '1',
    updatedMachineCount: updated,
    paused: situation.paused ?? false,
    ...(situation.pausedFor === undefined ? {} : { pausedFor: situation.pausedFor }),
    machineConfigSelector: { matchLabels: { role: 'master' } },
  };
  return {
    nodes: Array.from({ length: masters }, (_, index) => inspectedNode(`control${index}`, STUCK)),
    pools: [pool],
    configs: names(exists ? [RENDERED, MISSING] : [RENDERED]),
    terminatingConfigs: names([]),
    pendingRequests: [],
    controlPlaneReplicas: replicas,
  };
}

function planActions(situation: Situation): readonly StepAction[] {
  return planRestore(CONTENT, createState(situation), OPTIONS).steps.map(({ action }) => action);
}

const CREATE = ['CreateConfig', 'AwaitNodes'];
const SET_STATUS = ['PausePool', 'CreateConfig', 'SetPoolStatus', 'UnpausePool', 'AwaitNodes'];
const EVERYTHING = ['PausePool', 'CreateConfig', 'SetPoolStatus', 'AwaitMachines', 'UnpausePool', 'AwaitNodes'];

test.each<[string, Situation, readonly string[]]>([
  ['the pool serves a config and is complete', { status: RENDERED, updated: 1 }, CREATE],
  ['the status is empty', {}, SET_STATUS],
  [
    'the status is empty and a machine is updated',
    { updated: 1 },
    ['PausePool', 'CreateConfig', 'UnpausePool', 'AwaitNodes'],
  ],
  ['the status dangles', { status: GONE }, SET_STATUS],
  ['the status dangles and a machine is updated', { status: GONE, updated: 1 }, CREATE],
  ['the status names the missing config', { status: MISSING }, CREATE],
  ['the spec names the missing config', { spec: MISSING, status: MISSING, updated: 3 }, CREATE],
  [
    'a machine is missing',
    { status: RENDERED, masters: 2 },
    ['PausePool', 'CreateConfig', 'AwaitMachines', 'UnpausePool', 'AwaitNodes'],
  ],
  ['a machine is missing and the status is empty', { masters: 2 }, EVERYTHING],
  [
    'a person has paused the pool',
    { masters: 2, paused: true },
    ['CreateConfig', 'SetPoolStatus', 'AwaitMachines', 'AwaitNodes'],
  ],
  [
    'an earlier restore has paused the pool',
    { masters: 2, paused: true, pausedFor: MISSING },
    ['CreateConfig', 'SetPoolStatus', 'AwaitMachines', 'UnpausePool', 'AwaitNodes'],
  ],
])('plans these steps if %s', (_condition, situation, actions) => {
  expect(planActions(situation)).toEqual(actions);
});

const INTERRUPTED = { paused: true, pausedFor: MISSING, exists: true };

test.each<[string, Situation, readonly string[]]>([
  [
    'the config was created',
    { ...INTERRUPTED, masters: 2 },
    ['SetPoolStatus', 'AwaitMachines', 'UnpausePool', 'AwaitNodes'],
  ],
  [
    'the status was set',
    { ...INTERRUPTED, masters: 2, status: MISSING },
    ['AwaitMachines', 'UnpausePool', 'AwaitNodes'],
  ],
  ['all machines have joined', { ...INTERRUPTED, status: MISSING }, ['UnpausePool', 'AwaitNodes']],
  ['a person has unpaused the pool', { ...INTERRUPTED, paused: false, status: MISSING }, ['UnpausePool', 'AwaitNodes']],
  [
    'the status is empty in a pool that a person paused',
    { exists: true, paused: true },
    ['SetPoolStatus', 'AwaitNodes'],
  ],
  ['the restore is complete', { exists: true, status: MISSING }, []],
  ['the operator rolls out the spec', { exists: true, status: MISSING, masters: 2, updated: 1 }, []],
  ['the installation begins', { exists: true, spec: MISSING, masters: 1 }, []],
])('continues with these steps if the config exists and %s', (_condition, situation, actions) => {
  expect(planActions(situation)).toEqual(actions);
});

test('warns and does not wait for machines if their number is unknown', () => {
  const state = { ...createState({ masters: 1 }), controlPlaneReplicas: undefined };
  const { steps, warnings } = planRestore(CONTENT, state, OPTIONS);
  expect(steps.map(({ action }) => action)).toEqual(SET_STATUS);
  expect(warnings).toEqual([expect.stringContaining('Use --control-plane-replicas')]);
});

test('counts a master as missing until it has reported its config', () => {
  const state = createState({ status: RENDERED, masters: 2 });
  const nodes = [...state.nodes, inspectedNode('control2', { role: 'master' })];
  const { steps } = planRestore(CONTENT, { ...state, nodes }, OPTIONS);
  expect(steps.map(({ action }) => action)).toContain('AwaitMachines');
});

test.each([
  [undefined, ['Its pool master is paused, and stays paused.']],
  [MISSING, []],
])('if the pool is paused for %s, warns: %j', (pausedFor, warnings) => {
  const state = createState({ paused: true, ...(pausedFor === undefined ? {} : { pausedFor }) });
  expect(planRestore(CONTENT, state, OPTIONS).warnings).toEqual(warnings);
});

test('rejects a config while a restore of another config has paused the pool', () => {
  const state = createState({ paused: true, pausedFor: GONE });
  expect(planRestore(CONTENT, state, OPTIONS)).toMatchObject({
    rejection: { code: 'OtherRestore', reason: `a restore of ${GONE} has paused pool master` },
    steps: [],
  });
  const both = new Set([MISSING, GONE]);
  expect(planRestore(CONTENT, state, { ...OPTIONS, restoredNames: both }).rejection).toBeUndefined();
  const done = createState({ paused: true, pausedFor: GONE, exists: true, status: MISSING });
  expect(planRestore(CONTENT, done, OPTIONS)).toMatchObject({ rejection: undefined, steps: [] });
});

test('plans a config that only a pool names', () => {
  const plan = planRestore(
    CONTENT,
    { ...createState({ status: MISSING, updated: 1, replicas: 0 }), nodes: [] },
    OPTIONS,
  );
  expect(plan.steps.map(({ action }) => action)).toEqual(['CreateConfig']);
  expect(plan.referrers).toBe('pool master (status)');
});

test.each([
  [{}, 'SelectorMatches'],
  [{ matchLabels: {}, matchExpressions: [] }, 'SelectorMatches'],
  [{ matchExpressions: [{ key: 'role', operator: 'NotIn', values: ['worker'] }] }, 'SelectorMatches'],
  [{ matchExpressions: [{ key: 'role', operator: 'Exists' }] }, undefined],
  [undefined, undefined],
])('with the machineConfigSelector %j, rejects with %s', (machineConfigSelector, code) => {
  const state = createState({});
  const pools = state.pools.map((pool) => ({ ...pool, machineConfigSelector }));
  expect(planRestore(CONTENT, { ...state, pools }, OPTIONS).rejection?.code).toBe(code);
});

test('rejects a config that only weak references name', () => {
  const state = createState({});
  const node = inspectedNode('control0', { role: 'master' });
  const references = [{ field: 'desiredDrain', config: MISSING, strength: 'weak' }] as const;
  const nodes = [{ ...node, referrer: { ...node.referrer, references } }];
  expect(planRestore(CONTENT, { ...state, nodes }, OPTIONS).rejection?.code).toBe('NotReferenced');
  const name = toConfigName('rendered-master-other');
  expect(planRestore(CONTENT, state, { ...OPTIONS, name }).rejection?.code).toBe('NameDiffers');
});

test('rejects a config of pool master that only a worker names', () => {
  const state = createState({ status: RENDERED });
  const worker = inspectedNode('worker0', { ...STUCK, role: 'worker' });
  const plan = planRestore(CONTENT, { ...state, nodes: [worker] }, OPTIONS);
  expect(plan).toMatchObject({ rejection: { code: 'OtherPool' }, steps: [] });
  expect(plan.rejection?.reason).toBe('only worker0 names it, and pool master does not select that');
  const nodes = [worker, ...state.nodes];
  expect(planRestore(CONTENT, { ...state, nodes }, OPTIONS).rejection).toBeUndefined();
});

const EMPTY = { ...CONFIG, spec: { ...CONFIG.spec, config: { ignition: { version: '3.4.0' } } } };
const MISMATCH = { reason: 'the hash of the content of a.json is b', similarConfig: undefined };

test.each([
  ['a matching hash and no Ignition content', { config: EMPTY }, false, undefined],
  ['another hash', { config: CONFIG, mismatch: MISMATCH }, false, 'HashDiffers'],
  ['another hash and no Ignition content', { config: EMPTY, mismatch: MISMATCH }, true, 'NoIgnitionContent'],
  ['another hash that is accepted', { config: CONFIG, mismatch: MISMATCH }, true, undefined],
])('judges a content with %s', (_, content, acceptContent, code) => {
  const plan = planRestore(content, createState({}), { ...OPTIONS, acceptContent });
  expect(plan.rejection?.code).toBe(code);
});

test('says that a hash proves nothing in a cluster whose configs do not match their names', () => {
  const content = { config: CONFIG, mismatch: { ...MISMATCH, similarConfig: RENDERED } };
  const { rejection } = planRestore(content, createState({}), OPTIONS);
  expect(rejection).toMatchObject({ code: 'HashDiffers', reason: MISMATCH.reason });
  expect(rejection?.advice.text).toContain(`${RENDERED} in the API does not match its name either`);
});
