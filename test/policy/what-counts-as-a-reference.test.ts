import { describe, expect, test } from 'vitest';
import { buildReferrer, nodeReferrer, poolReferrer, UnreadableObject } from '../../src/policy/referrer.ts';

const A = 'rendered-worker-a4983d88dabdc54ecf977ee120fd3796';
const B = 'rendered-worker-b4983d88dabdc54ecf977ee120fd3796';
const MCO = 'machineconfiguration.openshift.io';

describe('node', () => {
  test('currentConfig and desiredConfig are hard references', () => {
    const annotations = { [`${MCO}/currentConfig`]: A, [`${MCO}/desiredConfig`]: B };
    expect(nodeReferrer({ metadata: { name: 'w0', annotations } })).toEqual({
      kind: 'Node',
      name: 'w0',
      uses: [
        { field: 'currentConfig', config: A, strength: 'hard' },
        { field: 'desiredConfig', config: B, strength: 'hard' },
      ],
    });
  });

  test('drain annotations and firstPivotConfig are notes, without their prefix, and only where they tell something new', () => {
    const annotations = {
      [`${MCO}/currentConfig`]: A,
      [`${MCO}/desiredDrain`]: `uncordon-${A}`,
      [`${MCO}/lastAppliedDrain`]: `drain-${B}`,
      [`${MCO}/firstPivotConfig`]: 'rendered-infra-c4983d88dabdc54ecf977ee120fd3796',
    };
    expect(nodeReferrer({ metadata: { name: 'w0', annotations } }).uses).toEqual([
      { field: 'currentConfig', config: A, strength: 'hard' },
      { field: 'lastAppliedDrain', config: B, strength: 'note' },
      { field: 'firstPivotConfig', config: 'rendered-infra-c4983d88dabdc54ecf977ee120fd3796', strength: 'note' },
    ]);
  });

  test.each([[{}], [{ annotations: null }], [{ annotations: { [`${MCO}/currentConfig`]: '' } }]])(
    'without either annotation it is unreported: %j',
    (metadata) => {
      expect(nodeReferrer({ metadata: { name: 'w0', ...metadata } })).toMatchObject({ uses: [], unreported: true });
    },
  );

  test.each([[null], [{}], [{ name: '' }], [{ name: 'n', annotations: { [`${MCO}/currentConfig`]: 7 } }]])(
    'one that does not look like a node is an error, never "names nothing": %j',
    (metadata) => {
      expect(() => nodeReferrer({ metadata })).toThrow(UnreadableObject);
    },
  );
});

describe('pool', () => {
  test('the config of spec and of status are hard references, the source configs are none', () => {
    const configuration = { name: A, source: [{ name: 'rendered-looking-source' }] };
    expect(
      poolReferrer({ metadata: { name: 'worker' }, spec: { configuration }, status: { configuration: { name: B } } })
        .uses,
    ).toEqual([
      { field: 'spec', config: A, strength: 'hard' },
      { field: 'status', config: B, strength: 'hard' },
    ]);
  });

  test('one that is being deleted names nothing', () => {
    const metadata = { name: 'worker', deletionTimestamp: '2026-11-20T10:00:00Z' };
    expect(poolReferrer({ metadata, spec: { configuration: { name: A } } })).toEqual({
      kind: 'MachineConfigPool',
      name: 'worker',
      uses: [],
      terminating: true,
    });
  });

  test.each([[{ spec: 'x' }], [{ spec: { configuration: [] } }], [{ status: { configuration: { name: {} } } }]])(
    'one that does not look like a pool is an error: %j',
    (parts) => {
      expect(() => poolReferrer({ metadata: { name: 'worker' }, ...parts })).toThrow(UnreadableObject);
    },
  );
});

describe('build', () => {
  const metadata = { name: 'b' };

  test.each([
    ['no status yet', undefined, 'hard'],
    ['building', [{ type: 'Building', status: 'True' }], 'hard'],
    ['not succeeded', [{ type: 'Succeeded', status: 'False' }], 'hard'],
    ['succeeded', [{ type: 'Succeeded', status: 'True' }], 'note'],
    ['failed', [{ type: 'Failed', status: 'True' }], 'note'],
    ['interrupted', [{ type: 'Interrupted', status: 'True' }], 'note'],
  ] as const)('%s: %j is %s', (_title, conditions, strength) => {
    const build = buildReferrer({ metadata, spec: { machineConfig: { name: A } }, status: { conditions } });
    expect(build.uses).toEqual([{ field: 'machineConfig', config: A, strength }]);
  });

  test('v1alpha1 calls the field desiredConfig', () => {
    expect(buildReferrer({ metadata, spec: { desiredConfig: { name: A } } }).uses).toEqual([
      { field: 'desiredConfig', config: A, strength: 'hard' },
    ]);
  });
});
