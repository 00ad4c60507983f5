import { expect, test } from 'vitest';
import { chooseContent, type Content, planRestore } from '../../../src/cli/restore/restore-plan.ts';
import type { RestoreState, StepAction } from '../../../src/cli/restore/restore-steps.ts';
import type { Origin, RenderedConfig } from '../../../src/rendered-config/rendered-config.ts';
import { createConfigOnDisk, toConfigOnDisk } from '../../support/config-on-disk.ts';
import { inspectedNode, inspectedPool, names } from '../../diagnosis/checked-cluster.ts';
import type { ConfigName } from '../../../src/mco/machine-config.ts';
import { REASONS } from '../../support/daemon-reasons.ts';

const { name: MISSING, config: CONFIG, spec: SPEC } = createConfigOnDisk();
const CONTENT = { config: CONFIG };
const { name: RENDERED } = createConfigOnDisk();
const { name: GONE } = createConfigOnDisk();
const STUCK = { current: MISSING, desired: MISSING, role: 'master', state: 'Degraded' };
const OPTIONS = {
  isConfirmed: true,
  name: undefined,
  acceptContent: false,
  configs: [CONFIG],
};

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

function toSize(masters: number | undefined): RestoreState['controlPlaneSize'] {
  return masters === undefined ? undefined : { masters, arbiters: 0 };
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
    controlPlaneSize: toSize('replicas' in situation ? situation.replicas : 3),
    givenMachines: undefined,
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
  ['only the pool names the config', { status: MISSING, updated: 1, replicas: 0, masters: 0 }, ['CreateConfig']],
  ['the config was created', { ...INTERRUPTED, masters: 2 }, [...SERVE, ...END]],
  ['the status was set', { ...INTERRUPTED, masters: 2, status: MISSING }, ['AwaitMachines', ...END]],
  ['all machines have joined', { ...INTERRUPTED, status: MISSING }, END],
  ['a person has unpaused the pool', { ...INTERRUPTED, paused: false, status: MISSING }, END],
  ['only the status is missing in a paused pool', { exists: true, paused: true }, ['SetPoolStatus', 'AwaitNodes']],
  ['no node names the config any more', { ...INTERRUPTED, status: RENDERED, masters: 0, replicas: 0 }, ['UnpausePool']],
  ['only its nodes are still Degraded', { exists: true, status: MISSING }, ['AwaitNodes']],
  ['the operator rolls out the spec', { exists: true, status: MISSING, masters: 2, updated: 1 }, ['AwaitNodes']],
  ['the installation begins', { exists: true, spec: MISSING, masters: 1 }, ['AwaitNodes']],
])('plans these steps if %s', (_condition, situation, actions) => {
  const { steps, report } = planRestore(CONTENT, createState(situation), OPTIONS);
  expect([steps.map(({ action }) => action), report.rejection]).toEqual([actions, null]);
  const patches = steps.flatMap(({ write }) => (write?.method === 'PATCH' ? [write] : []));
  expect(patches).toEqual(patches.map((patch) => ({ ...patch, resourceVersion: '1' })));
});

const mismatch = 'the hash of the content of a.json is b, not the one in the name';

const onNode = (node: string, file: string): Origin => ({ type: 'node', node, label: `node/${node}:${file}` });
const OF_NODE = { config: { ...CONFIG, origins: [onNode('a', '/b')] } };
const OF_STDIN = { config: { ...CONFIG, origins: [{ type: 'stdin', label: 'standard input' } as const] } };

test.each<[string, Situation, readonly string[], Partial<Content>?]>([
  ['the wanted number of machines is unknown', { replicas: undefined }, ['Use --control-plane-replicas to set it.']],
  ['it is unknown, but the config exists', { ...INTERRUPTED, replicas: undefined }, []],
  ['a person has paused the pool', { paused: true }, ['Its pool master stays paused.']],
  ['this restore has paused the pool', OWN_PAUSE, []],
  ['another restore has paused the pool', OTHER_PAUSE, [`stays paused until the restore of ${GONE} ends.`]],
  ['the content is accepted', {}, ['The hash in the name does not prove the content: '], { mismatch }],
  ['a copy of a node is served', {}, ['New machines of pool master boot with the content of node/a:/b.'], OF_NODE],
  ['the status names it', { status: MISSING }, ['boot with the content of standard input'], OF_STDIN],
  ['the spec names it and a machine is updated', { spec: MISSING, updated: 1 }, ['New machines of pool'], OF_NODE],
  ['a machine is updated, and the status names it', { status: MISSING, updated: 1 }, [], OF_NODE],
])('warns if %s', (_condition, situation, warnings, content) => {
  const expected = warnings.map((warning) => expect.stringContaining(warning) as string);
  const options = { ...OPTIONS, acceptContent: true };
  expect(planRestore({ ...CONTENT, ...content }, createState(situation), options).report.warnings).toEqual(expected);
});

test('plans a config without an owner, and warns, if its pool does not exist', () => {
  const state = { ...createState({ replicas: undefined }), pools: [] };
  const { report, steps } = planRestore(CONTENT, state, OPTIONS);
  expect([report.pool, steps.map(({ action }) => action)]).toEqual([null, CREATE]);
  expect(report.warnings).toEqual([expect.stringMatching(/^Its pool does not exist/)]);
});

test('counts a master as missing until it has reported its config', () => {
  const state = createState({ status: RENDERED, masters: 2 });
  const nodes = [...state.nodes, inspectedNode('control2', { role: 'master' })];
  const { steps } = planRestore(CONTENT, { ...state, nodes }, OPTIONS);
  expect(steps.map(({ action }) => action)).toContain('AwaitMachines');
});

const MASTER = inspectedNode('control0', { role: 'master' });
const DRAINED = [{ field: 'desiredDrain', config: MISSING, strength: 'weak' }] as const;
const WORKERS = ['w0', 'w1', 'w2', 'w3'].map((name) => inspectedNode(name, { ...STUCK, role: 'worker' }));

test.each<[string, string, Partial<RestoreState>, ConfigName?]>([
  ['NameDiffers', `contains ${MISSING}, not ${GONE}`, {}, GONE],
  ['Terminating', 'the config exists and is being deleted', { terminatingConfigs: names([MISSING]) }],
  ['NotReferenced', 'no node and no pool names the config', { nodes: [{ ...MASTER, references: DRAINED }] }],
  ['OtherPool', 'pool master does not select the nodes that name it: w0', { nodes: WORKERS.slice(0, 1) }],
  ['OtherPool', 'nodes that name it: w0, w1, w2 and 1 more', { nodes: WORKERS }],
])('rejects a config with %s, and warns about nothing else', (code, reason, changes, name) => {
  const state = { ...createState({ status: RENDERED, replicas: undefined }), ...changes };
  const { report, steps } = planRestore(CONTENT, state, { ...OPTIONS, name });
  expect(report.rejection).toMatchObject({ code, reason: expect.stringContaining(reason) as string });
  expect([...steps, ...report.warnings]).toEqual([]);
});

test('accepts a config that a worker and a machine or the pool name', () => {
  const { nodes, ...state } = createState({ status: RENDERED });
  const pools = [...createState({ status: MISSING }).pools, inspectedPool('w', {})];
  const plan = (changes: Partial<RestoreState>) =>
    planRestore(CONTENT, { ...state, nodes, ...changes }, { ...OPTIONS, name: MISSING }).report;
  expect(plan({ nodes: [...WORKERS, ...nodes] }).rejection).toBeNull();
  const namedBy = 'node w0 (currentConfig, desiredConfig) and pool master (status)';
  expect(plan({ nodes: WORKERS.slice(0, 1), pools })).toMatchObject({ rejection: null, namedBy });
});

test('advises the nodes whose disk can have the config to name it, also those of a custom pool', () => {
  const { name, config } = createConfigOnDisk('worker');
  const reason = REASONS.diskDiffers(RENDERED);
  const onDisk = (node: string, options = {}) =>
    inspectedNode(node, { current: RENDERED, desired: RENDERED, state: 'Degraded', reason, ...options });
  const worker = inspectedPool('worker', { spec: RENDERED });
  const infra = { ...worker, name: 'infra' };
  const nodes = [
    onDisk('advised'),
    onDisk('naming', { current: name, reason: 'unexpected on-disk state' }),
    onDisk('annotated', { current: GONE, desired: GONE }),
    onDisk('read', { current: GONE, desired: GONE }),
    onDisk('with-other-copy'),
    onDisk('of-other-pool', { role: 'master' }),
  ];
  const copies = { ...config, origins: [onNode('a', '/a'), onNode('b', '/a'), onNode('read', '/a')] };
  const configs = [copies, { ...config, name: GONE, origins: [onNode('with-other-copy', '/a')] }];
  const state = { ...createState({}), pools: [worker, infra], nodes };
  const { next } = planRestore({ config }, state, { ...OPTIONS, configs });
  expect(next?.command?.words.slice(3, 6)).toEqual(['advised', 'read', '--overwrite']);
});

const EMPTY = { ...CONFIG, spec: { ...SPEC, config: { ignition: { version: '3.4.0' } } } };

test.each([
  ['a matching hash and no Ignition content', { config: EMPTY }, false, undefined],
  ['another hash', { config: CONFIG, mismatch }, false, 'HashDiffers'],
  ['another hash and no Ignition content', { config: EMPTY, mismatch }, true, 'NoIgnitionContent'],
  ['another hash that is accepted', { config: CONFIG, mismatch }, true, undefined],
])('judges a content with %s', (_, content, acceptContent, code) => {
  const plan = planRestore(content, createState({}), { ...OPTIONS, acceptContent });
  expect(plan.report.rejection?.code).toBe(code);
});

function copy(changes: object, label: string): RenderedConfig {
  return { ...toConfigOnDisk('master', { ...SPEC, ...changes }, MISSING).config, origins: [{ type: 'file', label }] };
}

test('takes the copy that matches the name, in any order, and else names up to 3 copies', () => {
  const copies = [copy({}, 'good.json'), copy({ fips: true }, 'bad.json')];
  for (const given of [copies, copies.toReversed()]) expect(chooseContent(given)).toEqual({ config: copies[0] });
  // The second one has a character that no hash can verify.
  const bad = [copy({ fips: true }, 'a'), ...Array.from('bcdefgh', (source) => copy({ kernelType: '\u2028' }, source))];
  const mismatch = 'the hash in the name does not prove the content of a, b, c and 5 more';
  expect(chooseContent(bad)).toEqual({ config: bad[0], mismatch });
});
