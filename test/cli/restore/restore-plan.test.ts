import { expect, test } from 'vitest';
import { toConfigName } from '../../../src/decision/config-name.ts';
import { chooseContent, planRestore } from '../../../src/cli/restore/restore-plan.ts';
import type { RestoreState } from '../../../src/cli/restore/restore-state.ts';
import type { StepAction } from '../../../src/cli/restore/restore-steps.ts';
import type { RenderedConfig } from '../../../src/rendered-config/rendered-config.ts';
import { createConfigOnDisk, toConfigOnDisk } from '../../support/config-on-disk.ts';
import { inspectedNode, inspectedPool, names } from '../check/checked-cluster.ts';

const { name: MISSING, config: CONFIG, spec: SPEC } = createConfigOnDisk();
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
  readonly replicas?: number | undefined;
  readonly paused?: boolean;
  readonly pausedFor?: string;
  readonly exists?: boolean;
}

function createState(situation: Situation): RestoreState {
  const { spec = RENDERED, status, updated = 0, masters = 3, paused = false, pausedFor, exists = false } = situation;
  const pool = {
    ...inspectedPool('master', { spec, status }),
    uid: 'uid',
    resourceVersion: '1',
    updatedMachineCount: updated,
    paused,
    ...(pausedFor !== undefined && { pausedFor }),
  };
  return {
    nodes: Array.from({ length: masters }, (_, index) => inspectedNode(`control${index}`, STUCK)),
    pools: [pool],
    configs: names(exists ? [RENDERED, MISSING] : [RENDERED]),
    terminatingConfigs: names([]),
    pendingRequests: [],
    controlPlaneReplicas: 'replicas' in situation ? situation.replicas : 3,
  };
}

const PAUSE: readonly StepAction[] = ['PausePool', 'CreateConfig'];
const END: readonly StepAction[] = ['UnpausePool', 'AwaitNodes'];
const CREATE: readonly StepAction[] = ['CreateConfig', 'AwaitNodes'];
const SET_STATUS: readonly StepAction[] = [...PAUSE, 'SetPoolStatus', ...END];
const SERVE: readonly StepAction[] = ['SetPoolStatus', 'AwaitMachines'];
const OWN_PAUSE = { paused: true, pausedFor: MISSING };
const OTHER_PAUSE = { paused: true, pausedFor: GONE };
const INTERRUPTED = { ...OWN_PAUSE, exists: true };

test.each<[string, Situation, readonly StepAction[]]>([
  ['the pool serves a config and is complete', { status: RENDERED, updated: 1 }, CREATE],
  ['the status is empty', {}, SET_STATUS],
  ['the status is empty and a machine is updated', { updated: 1 }, [...PAUSE, ...END]],
  ['the status dangles', { status: GONE }, SET_STATUS],
  ['the status dangles and a machine is updated', { status: GONE, updated: 1 }, CREATE],
  ['the status names the missing config', { status: MISSING }, CREATE],
  ['the spec names the missing config', { spec: MISSING, status: MISSING, updated: 3 }, CREATE],
  ['a machine is missing', { status: RENDERED, masters: 2 }, [...PAUSE, 'AwaitMachines', ...END]],
  ['a machine is missing and the status is empty', { masters: 2 }, [...PAUSE, ...SERVE, ...END]],
  ['the wanted number of machines is unknown', { masters: 1, replicas: undefined }, SET_STATUS],
  ['a person has paused the pool', { masters: 2, paused: true }, ['CreateConfig', ...SERVE, 'AwaitNodes']],
  ['another restore has paused the pool', { masters: 2, ...OTHER_PAUSE }, ['CreateConfig', ...SERVE, 'AwaitNodes']],
  ['an earlier restore has paused the pool', { masters: 2, ...OWN_PAUSE }, ['CreateConfig', ...SERVE, ...END]],
  ['the config was created', { ...INTERRUPTED, masters: 2 }, [...SERVE, ...END]],
  ['the status was set', { ...INTERRUPTED, masters: 2, status: MISSING }, ['AwaitMachines', ...END]],
  ['all machines have joined', { ...INTERRUPTED, status: MISSING }, END],
  ['a person has unpaused the pool', { ...INTERRUPTED, paused: false, status: MISSING }, END],
  ['only the status is missing in a paused pool', { exists: true, paused: true }, ['SetPoolStatus', 'AwaitNodes']],
  ['the restore is complete', { exists: true, status: MISSING }, []],
  ['the operator rolls out the spec', { exists: true, status: MISSING, masters: 2, updated: 1 }, []],
  ['the installation begins', { exists: true, spec: MISSING, masters: 1 }, []],
])('plans these steps if %s', (_condition, situation, actions) => {
  const { steps, rejection } = planRestore(CONTENT, createState(situation), OPTIONS);
  expect(steps.map(({ action }) => action)).toEqual(actions);
  expect(rejection).toBeUndefined();
});

test.each<[string, Situation, readonly string[]]>([
  ['the wanted number of machines is unknown', { replicas: undefined }, ['Use --control-plane-replicas to set it.']],
  ['a person has paused the pool', { paused: true }, ['Its pool master is paused, and stays paused.']],
  ['this restore has paused the pool', OWN_PAUSE, []],
  ['another restore has paused the pool', OTHER_PAUSE, [`stays paused until the restore of ${GONE} ends.`]],
])('warns if %s', (_condition, situation, warnings) => {
  const expected = warnings.map((warning) => expect.stringContaining(warning) as string);
  expect(planRestore(CONTENT, createState(situation), OPTIONS).warnings).toEqual(expected);
});

test('counts a master as missing until it has reported its config', () => {
  const state = createState({ status: RENDERED, masters: 2 });
  const nodes = [...state.nodes, inspectedNode('control2', { role: 'master' })];
  const { steps } = planRestore(CONTENT, { ...state, nodes }, OPTIONS);
  expect(steps.map(({ action }) => action)).toContain('AwaitMachines');
});

test('plans a config that only a pool names', () => {
  const state = createState({ status: MISSING, updated: 1, replicas: 0, masters: 0 });
  const { steps, referrers } = planRestore(CONTENT, state, OPTIONS);
  expect(steps.map(({ action }) => action)).toEqual(['CreateConfig']);
  expect(referrers).toBe('pool master (status)');
});

test('rejects a config of another name, and one that only weak references name', () => {
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

const EMPTY = { ...CONFIG, spec: { ...SPEC, config: { ignition: { version: '3.4.0' } } } };
const mismatch = 'the hash of the content of a.json is b, not the one in the name';

test.each([
  ['a matching hash and no Ignition content', { config: EMPTY }, false, undefined],
  ['another hash', { config: CONFIG, mismatch }, false, 'HashDiffers'],
  ['another hash and no Ignition content', { config: EMPTY, mismatch }, true, 'NoIgnitionContent'],
  ['another hash that is accepted', { config: CONFIG, mismatch }, true, undefined],
])('judges a content with %s', (_, content, acceptContent, code) => {
  const plan = planRestore(content, createState({}), { ...OPTIONS, acceptContent });
  expect(plan.rejection?.code).toBe(code);
});

const { signal } = new AbortController();
const IMAGES = new Set(['quay.io/a@sha256:1', SPEC['osImageURL'] as string]);

function copy(changes: object, source = 'a.json'): RenderedConfig {
  return { ...toConfigOnDisk('master', { ...SPEC, ...changes }, MISSING).config, source };
}

test('takes the copy that matches the name, in any order', async () => {
  const copies = [copy({}, 'good.json'), copy({ fips: true }, 'bad.json')];
  expect(await chooseContent(copies, new Set(), signal)).toEqual({ config: copies[0] });
  expect(await chooseContent(copies.toReversed(), new Set(), signal)).toEqual({ config: copies[0] });
});

test.each([1, 3])('undoes kernel arguments that it has appended %i times', async (times) => {
  const shouldExist = ['a=1', 'b'];
  const config = { ...(SPEC['config'] as object), kernelArguments: { shouldExist } };
  const original = createConfigOnDisk('master', { config, kernelArguments: ['c', 'b'] });
  const kernelArguments = ['c', 'b', ...Array.from({ length: times }, () => shouldExist).flat()];
  const changes = { ...original.spec, kernelArguments, osImageURL: 'quay.io/layered@sha256:2' };

  const content = await chooseContent([toConfigOnDisk('master', changes, original.name).config], IMAGES, signal);

  expect(content.config.spec).toEqual(original.spec);
  expect(content.correction).toContain('osImageURL and kernelArguments');
});

test('says of each copy why the name does not prove it', async () => {
  const copies = [copy({ fips: true }, 'a.json'), copy({ kernelType: '\u2028' }, 'b.json')];
  const content = await chooseContent(copies, IMAGES, signal);
  expect(content.config).toBe(copies[0]);
  expect(content.mismatch?.split('; ')).toEqual([
    expect.stringMatching(/^the hash of the content of a\.json is [0-9a-f]{32}, not the one in the name$/),
    'no hash can verify the content of b.json, which contains the character U+2028',
  ]);
});
