import { expect, test } from 'vitest';
import { MalformedObject } from '../../src/kube/api-object.ts';
import { parseBuildReferrer, parseNodeReferrer, parsePoolReferrer } from '../../src/mco/parse-referrer.ts';
import { ALLOW_DELETION_ANNOTATION } from '../../src/api/annotations.ts';
import { MACHINE_CONFIGS } from '../../src/mco/resources.ts';

const [A, B] = ['rendered-worker-a', 'rendered-worker-b'];
const MCO = 'machineconfiguration.openshift.io';
const PAUSED_FOR = 'machineconfig-guard.io/paused-for-restore';
const CREATED = '2026-11-20T09:00:00Z';
const CHANGED = '2026-11-20T10:00:00Z';
const UPDATED = { type: 'Updated', status: 'False', lastTransitionTime: CHANGED };

function parseNode(annotations: Readonly<Record<string, unknown>> | null, metadata: object = {}) {
  const all = Object.entries(annotations ?? {}).map(([key, value]) => [`${MCO}/${key}`, value] as const);
  return parseNodeReferrer({
    metadata: { name: 'w0', ...metadata, annotations: annotations && Object.fromEntries(all) },
  });
}

function parsePool(spec: unknown, status?: unknown, metadata: object = {}) {
  return parsePoolReferrer({ metadata: { name: 'worker', creationTimestamp: CREATED, ...metadata }, spec, status });
}

function parseBuild(fields: object) {
  return parseBuildReferrer({ metadata: { name: 'b' }, ...fields });
}

const toConfiguration = (name?: string) => ({ configuration: { name } });

test('nodes with equal references share one list of them', () => {
  const { references } = parseNode({ currentConfig: A, desiredConfig: B });
  expect(parseNode({ currentConfig: A, desiredConfig: B }).references).toBe(references);
  expect(parseNode({ currentConfig: A, desiredConfig: A }).references).not.toEqual(references);
});

test('annotations of a node are references, weak ones without prefixes and duplicates', () => {
  const configs = { currentConfig: A, desiredConfig: B };
  const drains = { desiredDrain: `uncordon-${A}`, lastAppliedDrain: 'drain-c', firstPivotConfig: 'd' };
  // The daemon never asks for a config that only its reason names.
  const failure = { state: 'Degraded', reason: 'machineconfig "rendered-worker-e" not found' };
  expect(parseNode({ ...configs, ...drains, ...failure })).toEqual({
    kind: 'Node',
    name: 'w0',
    state: { type: 'configured' },
    references: [
      { field: 'currentConfig', config: A, strength: 'strong' },
      { field: 'desiredConfig', config: B, strength: 'strong' },
      { field: 'lastAppliedDrain', config: 'c', strength: 'weak' },
      { field: 'firstPivotConfig', config: 'd', strength: 'weak' },
    ],
  });
});

test('a name that no config can have stays dangling, and takes little memory', () => {
  const { references } = parseNode({ currentConfig: 'x'.repeat(250_000) });
  expect(references).toEqual([{ field: 'currentConfig', config: 'x'.repeat(254), strength: 'strong' }]);
});

test('keeps the creation time and the labels of an unreported node without annotations of the operator', () => {
  const labels = { 'kubernetes.io/os': 'linux' };
  const metadata = { creationTimestamp: CREATED, labels };
  const createdAt = new Date(CREATED);
  const state = { type: 'unreported', createdAt };
  expect(parseNode({}, metadata).state).toEqual({ ...state, labels });
  expect(parseNode({ controlPlaneTopology: 'HighlyAvailable' }, metadata).state).toEqual(state);
});

test.each([[{}], [null], [{ currentConfig: '' }], [{ desiredDrain: `no-drain-${A}` }]])(
  'a node is unreported with the annotations %j',
  (annotations) => {
    expect(parseNode(annotations)).toMatchObject({ references: [], state: { type: 'unreported' } });
  },
);

test('a Windows node without annotations of the operator is unmanaged', () => {
  const windows = { labels: { 'kubernetes.io/os': 'windows' } };
  expect(parseNode({}, windows).state).toEqual({ type: 'unmanaged' });
  expect(parseNode({ controlPlaneTopology: 'x' }, windows).state).toMatchObject({ type: 'unreported' });
});

test.each([
  ['a Node has no name', () => parseNodeReferrer({ metadata: null })],
  ['a Node has no name', () => parseNode({}, { name: '' })],
  ['a MachineConfigPool has no name', () => parsePool({}, {}, { name: '' })],
  ['a MachineOSBuild has no name', () => parseBuildReferrer({})],
  ['annotation currentConfig of node w0 is not a string', () => parseNode({ currentConfig: 7 })],
  ['spec.nodeSelector of pool worker has a parent that is not an object', () => parsePool('x')],
  ['spec.configuration.name of pool worker has a parent that is not an object', () => parsePool({ configuration: [] })],
  ['status.configuration.name of pool worker is not a string', () => parsePool({}, { configuration: { name: {} } })],
  ['spec.machineConfig.name of build b is not a string', () => parseBuild({ spec: { machineConfig: { name: 7 } } })],
  ['status.conditions of build b is not a list', () => parseBuild({ status: { conditions: 'x' } })],
  [
    'type of a condition of build b has a parent that is not an object',
    () => parseBuild({ status: { conditions: [7] } }),
  ],
  ['a MachineConfig has no creationTimestamp', () => MACHINE_CONFIGS.parse({ metadata: { name: A } })],
])('throws for a malformed object: %s', (message, parseObject) => {
  expect(parseObject).toThrow(new MalformedObject(message));
});

test('the reference of a build is strong until it ends', () => {
  const spec = { machineConfig: { name: A }, desiredConfig: { name: null } };
  const find = (status?: object) => parseBuild({ spec, status }).references;
  expect(find()).toEqual([{ field: 'machineConfig', config: A, strength: 'strong' }]);
  expect(find({ conditions: [{ type: 'Succeeded', status: 'True' }] })).toMatchObject([{ strength: 'weak' }]);
});

test('of a config, keeps whether it is being deleted and may be deleted', () => {
  const parse = (more: object) =>
    MACHINE_CONFIGS.parse({ metadata: { name: A, uid: 'u', creationTimestamp: CREATED, ...more } });
  const config = { uid: 'u', createdAt: new Date(CREATED), isTerminating: false, isOverridden: false };
  expect(parse({})).toMatchObject(config);
  expect(parse({ deletionTimestamp: CHANGED })).toMatchObject({ ...config, isTerminating: true });
  const annotations = { [ALLOW_DELETION_ANNOTATION]: 'ticket 7' };
  expect(parse({ annotations })).toMatchObject({ ...config, isOverridden: true });
});

test.each([
  [[{ type: 'Degraded', lastTransitionTime: 'x' }, UPDATED], new Date(CHANGED)],
  [7, undefined],
  [[null, 'Updated', { type: 'Updated' }], undefined],
  [[{ type: 'Updated', lastTransitionTime: 'x' }], undefined],
])('with the conditions %j, the last transition of Updated of a pool is %s', (conditions, time) => {
  expect(parsePool({}, { conditions }).updatedChangedAt).toEqual(time);
});

test('the first roll-out of a pool starts with the condition Updated, else with the pool', () => {
  const spec = toConfiguration(A);
  const expected = { hasUpdatedMachine: false, cannotRender: false };
  expect(parsePool(spec).emptyStatus).toEqual({ ...expected, since: new Date(CREATED) });
  const { emptyStatus } = parsePool(spec, { conditions: [UPDATED], updatedMachineCount: 1 });
  expect(emptyStatus).toEqual({ ...expected, since: new Date(CHANGED), hasUpdatedMachine: true });
  const degraded = { conditions: [{ type: 'RenderDegraded', status: 'True' }], updatedMachineCount: 0 };
  expect(parsePool(spec, degraded)).toMatchObject({ emptyStatus: { ...expected, cannotRender: true } });
  // A status with a config, or a spec without, is no empty status.
  const others = [[A, A], [], [undefined, A]].map(([first, last]) => [first, last].map(toConfiguration));
  expect(others.map(([first, last]) => parsePool(first, last).emptyStatus)).toEqual([undefined, undefined, undefined]);
});

/** An entry as the API server writes it (kubernetes 1.33, after a merge patch). */
function managedFields(time: string, fieldsV1: object, subresource?: string): object {
  return { manager: 'machineconfig-guard', operation: 'Update', time, fieldsType: 'FieldsV1', fieldsV1, subresource };
}

test.each([
  ['the newest write of its owners', CHANGED],
  ['nothing, if no entry has the annotation', undefined],
])('a pool that is paused for a restore has the time of %s', (_, since) => {
  const own = { 'f:metadata': { 'f:annotations': { [`f:${PAUSED_FOR}`]: {} } }, 'f:spec': { 'f:paused': {} } };
  const entries = [
    managedFields('2026-11-20T11:00:00Z', { 'f:spec': { 'f:configuration': {} } }),
    managedFields('2026-11-20T12:00:00Z', own, 'status'),
    ...(since === undefined ? [] : [managedFields(CREATED, own), managedFields(since, own)]),
  ];
  const metadata = { annotations: { [PAUSED_FOR]: A }, managedFields: entries };
  const { pausedForRestore, ...pool } = parsePool({ paused: true }, {}, metadata);
  const specChangedAt = new Date('2026-11-20T11:00:00Z');
  expect(pool).toMatchObject({ specChangedAt, statusChangedAt: undefined, isTerminating: undefined });
  expect(pausedForRestore).toEqual({ config: A, since: since && new Date(since) });
  expect(parsePool({}, {}, metadata).pausedForRestore).toBeUndefined();
});
