import * as fc from 'fast-check';
import type { ApiObject } from '../../src/kube/api-object.ts';

/** Few names, so that configs and references often match. */
export const NAMES = [
  'rendered-worker-00000000000000000000000000000001',
  'rendered-worker-00000000000000000000000000000002',
  'rendered-master-00000000000000000000000000000001',
  'rendered-infra-a.b-0000000000000000000000000000000a',
  // One letter off, a prefix, and a source config are no rendered configs of the cluster.
  'render-worker-00000000000000000000000000000001',
  'rendered-worker-0000000000000000000000000000000',
  '99-worker-ssh',
] as const;

const MCO = 'machineconfiguration.openshift.io';
const name = fc.constantFrom(...NAMES);
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
/** A field that names a config. Absent, null and empty mean that it names none. */
const configField = fc.oneof(
  { weight: 4, arbitrary: name },
  { weight: 1, arbitrary: fc.constantFrom('', null, undefined) },
);

function removeAbsent(entries: Record<string, unknown>) {
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => (value ?? undefined) !== undefined));
}

export const node: fc.Arbitrary<ApiObject> = fc
  .record({
    id: fc.integer({ min: 0, max: 30 }),
    current: configField,
    desired: configField,
    drain: optional(fc.tuple(fc.constantFrom('drain-', 'uncordon-', ''), name)),
    pivot: optional(name),
    noAnnotations: fc.boolean(),
  })
  .map(({ id, current, desired, drain, pivot, noAnnotations }) => {
    const annotations = removeAbsent({
      [`${MCO}/currentConfig`]: current,
      [`${MCO}/desiredConfig`]: desired,
      [`${MCO}/desiredDrain`]: drain?.join(''),
      [`${MCO}/firstPivotConfig`]: pivot,
      [`${MCO}/state`]: 'Done',
    });
    const creationTimestamp = '2026-01-01T00:00:00Z';
    return {
      metadata: { name: `node-${id}`, creationTimestamp, ...(noAnnotations && id % 5 === 0 ? {} : { annotations }) },
    };
  });

export const pool: fc.Arbitrary<ApiObject> = fc
  .record({
    id: fc.constantFrom('worker', 'master', 'infra-a.b'),
    spec: configField,
    status: configField,
    finalizers: optional(fc.constantFrom([], ['example.com/other'], ['foregroundDeletion'])),
    source: name,
  })
  .map(({ id, spec, status, finalizers, source }) => ({
    metadata: { name: id, ...(finalizers ? { finalizers, deletionTimestamp: '2026-11-20T00:00:00Z' } : {}) },
    // `source` names source configs, which never count.
    spec: { configuration: { name: spec, source: [{ name: source }] } },
    ...(status === null ? {} : { status: { configuration: { name: status } } }),
  }));

const condition = fc.record({
  type: fc.constantFrom('Prepared', 'Building', 'Succeeded', 'Failed', 'Interrupted'),
  status: fc.constantFrom('True', 'False', 'Unknown'),
});

export const build: fc.Arbitrary<ApiObject> = fc
  .record({
    id: fc.integer({ min: 0, max: 9 }),
    config: configField,
    alpha: fc.boolean(),
    conditions: optional(fc.array(condition, { maxLength: 4 })),
  })
  .map(({ id, config, alpha, conditions }) => ({
    metadata: { name: `build-${id}` },
    spec: alpha ? { desiredConfig: { name: config } } : { machineConfig: { name: config } },
    ...(conditions === undefined ? {} : { status: { conditions } }),
  }));
