import { describe, expect, test } from 'vitest';
import { MalformedObject } from '../../src/kube/api-object.ts';
import { parseBuildReferrer, parseNodeReferrer, parsePoolReferrer } from '../../src/references/parse-referrer.ts';

const A = 'rendered-worker-a4983d88dabdc54ecf977ee120fd3796';
const B = 'rendered-worker-b4983d88dabdc54ecf977ee120fd3796';
const MCO = 'machineconfiguration.openshift.io';

describe('node', () => {
  test('currentConfig and desiredConfig are hard references', () => {
    const annotations = { [`${MCO}/currentConfig`]: A, [`${MCO}/desiredConfig`]: B };
    expect(parseNodeReferrer({ metadata: { name: 'w0', annotations } })).toEqual({
      kind: 'Node',
      name: 'w0',
      references: [
        { field: 'currentConfig', config: A, strength: 'strong' },
        { field: 'desiredConfig', config: B, strength: 'strong' },
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
    expect(parseNodeReferrer({ metadata: { name: 'w0', annotations } }).references).toEqual([
      { field: 'currentConfig', config: A, strength: 'strong' },
      { field: 'lastAppliedDrain', config: B, strength: 'weak' },
      { field: 'firstPivotConfig', config: 'rendered-infra-c4983d88dabdc54ecf977ee120fd3796', strength: 'weak' },
    ]);
  });

  test.each([[{}], [{ annotations: null }], [{ annotations: { [`${MCO}/currentConfig`]: '' } }]])(
    'without either annotation it is isUnreported: %j',
    (metadata) => {
      expect(parseNodeReferrer({ metadata: { name: 'w0', ...metadata } })).toMatchObject({
        references: [],
        isUnreported: true,
      });
    },
  );

  test.each([[null], [{}], [{ name: '' }], [{ name: 'n', annotations: { [`${MCO}/currentConfig`]: 7 } }]])(
    'one that does not look like a node is an error, never "names nothing": %j',
    (metadata) => {
      expect(() => parseNodeReferrer({ metadata })).toThrow(MalformedObject);
    },
  );
});

describe('pool', () => {
  test('the config of spec and of status are hard references, the source configs are none', () => {
    const configuration = { name: A, source: [{ name: 'rendered-looking-source' }] };
    expect(
      parsePoolReferrer({
        metadata: { name: 'worker' },
        spec: { configuration },
        status: { configuration: { name: B } },
      }).references,
    ).toEqual([
      { field: 'spec', config: A, strength: 'strong' },
      { field: 'status', config: B, strength: 'strong' },
    ]);
  });

  test('one that is being deleted names nothing', () => {
    const metadata = { name: 'worker', deletionTimestamp: '2026-11-20T10:00:00Z' };
    expect(parsePoolReferrer({ metadata, spec: { configuration: { name: A } } })).toEqual({
      kind: 'MachineConfigPool',
      name: 'worker',
      references: [],
      isTerminating: true,
    });
  });

  test.each([[{ spec: 'x' }], [{ spec: { configuration: [] } }], [{ status: { configuration: { name: {} } } }]])(
    'one that does not look like a pool is an error: %j',
    (parts) => {
      expect(() => parsePoolReferrer({ metadata: { name: 'worker' }, ...parts })).toThrow(MalformedObject);
    },
  );
});

describe('build', () => {
  const metadata = { name: 'b' };

  test.each([
    ['no status yet', undefined, 'strong'],
    ['building', [{ type: 'Building', status: 'True' }], 'strong'],
    ['not succeeded', [{ type: 'Succeeded', status: 'False' }], 'strong'],
    ['succeeded', [{ type: 'Succeeded', status: 'True' }], 'weak'],
    ['failed', [{ type: 'Failed', status: 'True' }], 'weak'],
    ['interrupted', [{ type: 'Interrupted', status: 'True' }], 'weak'],
  ] as const)('%s: %j is %s', (_title, conditions, strength) => {
    const build = parseBuildReferrer({ metadata, spec: { machineConfig: { name: A } }, status: { conditions } });
    expect(build.references).toEqual([{ field: 'machineConfig', config: A, strength }]);
  });

  test('v1alpha1 calls the field desiredConfig', () => {
    expect(parseBuildReferrer({ metadata, spec: { desiredConfig: { name: A } } }).references).toEqual([
      { field: 'desiredConfig', config: A, strength: 'strong' },
    ]);
  });
});
