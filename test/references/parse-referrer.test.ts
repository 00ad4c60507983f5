import { expect, test } from 'vitest';
import { MalformedObject } from '../../src/kube/api-object.ts';
import { parseBuildReferrer, parseNodeReferrer, parsePoolReferrer } from '../../src/references/parse-referrer.ts';

test('keeps the creation time and the labels of an unreported node without annotations of the operator', () => {
  const labels = { 'kubernetes.io/os': 'linux' };
  const metadata = { name: 'w0', creationTimestamp: '2026-11-20T10:00:00Z', labels };
  const createdAt = new Date('2026-11-20T10:00:00Z');
  const node = { kind: 'Node', name: 'w0', references: [], isConfigUnreported: true, createdAt };
  expect(parseNodeReferrer({ metadata })).toEqual({ ...node, labels });
  const annotations = { 'machineconfiguration.openshift.io/controlPlaneTopology': 'HighlyAvailable' };
  expect(parseNodeReferrer({ metadata: { ...metadata, annotations } })).toEqual(node);
});

test.each([
  [undefined],
  [7],
  [[null, 'Updated', { type: 'Updated' }]],
  [[{ type: 'Updated', lastTransitionTime: 'x' }]],
])('a pool has no time with the conditions %j', (conditions) => {
  const pool = { metadata: { name: 'worker' }, status: { conditions } };
  expect(parsePoolReferrer(pool)).toEqual({ kind: 'MachineConfigPool', name: 'worker', references: [] });
});

const PAUSED_FOR = 'machineconfig-guard.io/paused-for-restore';

/** An entry as the API server writes it (kubernetes 1.33, after a merge patch). */
function managedFields(time: string, fieldsV1: object, subresource?: string): object {
  return {
    manager: 'machineconfig-guard',
    operation: 'Update',
    time,
    fieldsType: 'FieldsV1',
    fieldsV1,
    subresource,
  };
}

test.each([
  ['the newest write of its owners', '2026-11-20T10:00:00Z'],
  ['nothing, if no entry has the annotation', undefined],
])('a pool that is paused for a restore has the time of %s', (_, since) => {
  const own = {
    'f:metadata': { 'f:annotations': { [`f:${PAUSED_FOR}`]: {} } },
    'f:spec': { 'f:paused': {} },
  };
  const entries = [
    managedFields('2026-11-20T11:00:00Z', { 'f:spec': { 'f:configuration': {} } }),
    managedFields('2026-11-20T12:00:00Z', own, 'status'),
    ...(since === undefined ? [] : [managedFields('2026-11-20T09:00:00Z', own), managedFields(since, own)]),
  ];
  const metadata = {
    name: 'master',
    annotations: { [PAUSED_FOR]: 'rendered-master-a' },
    managedFields: entries,
  };
  const { pausedForRestore } = parsePoolReferrer({ metadata, spec: { paused: true } });
  expect(pausedForRestore).toEqual({
    config: 'rendered-master-a',
    since: since === undefined ? undefined : new Date(since),
  });
  expect(parsePoolReferrer({ metadata, spec: {} }).pausedForRestore).toBeUndefined();
});

test('the first roll-out of a pool starts with the condition Updated, else with the pool', () => {
  const creationTimestamp = '2026-11-20T09:00:00Z';
  const pool = { metadata: { name: 'infra', creationTimestamp }, spec: { configuration: { name: 'x' } } };
  const { emptyStatus: withoutStatus } = parsePoolReferrer(pool);
  expect(withoutStatus).toEqual({
    since: new Date(creationTimestamp),
    hasUpdatedMachine: false,
    cannotRender: false,
  });
  const lastTransitionTime = '2026-11-20T10:00:00Z';
  const conditions = [{ type: 'Updated', status: 'False', lastTransitionTime }];
  const { emptyStatus } = parsePoolReferrer({ ...pool, status: { conditions, updatedMachineCount: 1 } });
  expect(emptyStatus).toEqual({ since: new Date(lastTransitionTime), hasUpdatedMachine: true, cannotRender: false });
});

test.each([
  ['both configs', { spec: 'x', status: 'x' }],
  ['no config', {}],
  ['a config in its status only', { status: 'x' }],
])('a pool with %s has no empty status', (_case, { spec, status }: { spec?: string; status?: string }) => {
  const [specPart, statusPart] = [spec, status].map((name) => ({ configuration: { name } }));
  const pool = { metadata: { name: 'infra' }, spec: specPart, status: statusPart };
  expect(parsePoolReferrer(pool).emptyStatus).toBeUndefined();
});

test('keeps the last transition of the condition Updated of a pool', () => {
  const lastTransitionTime = '2026-11-20T10:00:00Z';
  const conditions = [
    { type: 'Degraded', lastTransitionTime: 'x' },
    { type: 'Updated', lastTransitionTime },
  ];
  const pool = { metadata: { name: 'worker' }, status: { conditions } };
  expect(parsePoolReferrer(pool)).toMatchObject({ updatedChangedAt: new Date(lastTransitionTime) });
});

const [A, B] = ['rendered-worker-a', 'rendered-worker-b'];
const MCO = 'machineconfiguration.openshift.io';

test('other annotations of a node are weak references, without prefixes and duplicates', () => {
  const annotations = {
    [`${MCO}/currentConfig`]: A,
    [`${MCO}/desiredConfig`]: B,
    [`${MCO}/desiredDrain`]: `uncordon-${A}`,
    [`${MCO}/lastAppliedDrain`]: 'drain-c',
    [`${MCO}/firstPivotConfig`]: 'd',
  };
  const references = [
    { field: 'currentConfig', config: A, strength: 'strong' },
    { field: 'desiredConfig', config: B, strength: 'strong' },
    { field: 'lastAppliedDrain', config: 'c', strength: 'weak' },
    { field: 'firstPivotConfig', config: 'd', strength: 'weak' },
  ];
  const node = parseNodeReferrer({ metadata: { name: 'w0', annotations } });
  expect(node).toEqual({ kind: 'Node', name: 'w0', references });
});

test.each([[{}], [{ annotations: null }], [{ annotations: { [`${MCO}/currentConfig`]: '' } }]])(
  'a node is unreported with the metadata %j',
  (metadata) => {
    expect(parseNodeReferrer({ metadata: { name: 'w0', ...metadata } })).toMatchObject({
      references: [],
      isConfigUnreported: true,
    });
  },
);

test.each([[null], [{}], [{ name: '' }], [{ name: 'n', annotations: { [`${MCO}/currentConfig`]: 7 } }]])(
  'throws for the malformed node metadata %j',
  (metadata) => {
    expect(() => parseNodeReferrer({ metadata })).toThrow(MalformedObject);
  },
);

test('spec and status of a pool are strong references, and source configs are no references', () => {
  const configuration = { name: A, source: [{ name: 'rendered-looking-source' }] };
  const status = { configuration: { name: B } };
  const metadata = { name: 'worker' };
  expect(parsePoolReferrer({ metadata, spec: { configuration }, status }).references).toEqual([
    { field: 'spec', config: A, strength: 'strong' },
    { field: 'status', config: B, strength: 'strong' },
  ]);
});

test('a terminating pool has no references, but a nodeSelector', () => {
  const metadata = { name: 'worker', deletionTimestamp: '2026-11-20T10:00:00Z' };
  const nodeSelector = { matchLabels: { role: 'worker' } };
  expect(parsePoolReferrer({ metadata, spec: { configuration: { name: A }, nodeSelector } })).toEqual({
    kind: 'MachineConfigPool',
    name: 'worker',
    references: [],
    isTerminating: true,
    nodeSelector,
  });
});

test.each([[{ spec: 'x' }], [{ spec: { configuration: [] } }], [{ status: { configuration: { name: {} } } }]])(
  'throws for the malformed pool %j',
  (parts) => {
    expect(() => parsePoolReferrer({ metadata: { name: 'worker' }, ...parts })).toThrow(MalformedObject);
  },
);

const metadata = { name: 'b' };

test.each([
  ['no status yet', undefined, 'strong'],
  ['started', [{ type: 'Building', status: 'True' }], 'strong'],
  ['not ended', [{ type: 'Succeeded', status: 'False' }], 'strong'],
  ['succeeded', [{ type: 'Succeeded', status: 'True' }], 'weak'],
  ['failed', [{ type: 'Failed', status: 'True' }], 'weak'],
  ['interrupted', [{ type: 'Interrupted', status: 'True' }], 'weak'],
] as const)('a build that has %s, %j, has a %s reference', (_title, conditions, strength) => {
  const spec = { machineConfig: { name: A } };
  const { references } = parseBuildReferrer({ metadata, spec, status: { conditions } });
  expect(references).toEqual([{ field: 'machineConfig', config: A, strength }]);
});

test('reads desiredConfig of a build, the field of v1alpha1', () => {
  expect(parseBuildReferrer({ metadata, spec: { desiredConfig: { name: A } } }).references).toEqual([
    { field: 'desiredConfig', config: A, strength: 'strong' },
  ]);
});

test('a name that no config can have stays dangling, and takes little memory', () => {
  const annotations = { [`${MCO}/currentConfig`]: 'x'.repeat(250_000) };
  const { references } = parseNodeReferrer({ metadata: { name: 'w0', annotations } });
  expect(references).toEqual([{ field: 'currentConfig', config: 'x'.repeat(254), strength: 'strong' }]);
});
