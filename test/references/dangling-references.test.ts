import { expect, test } from 'vitest';
import { toConfigName, type ConfigName } from '../../src/decision/config-name.ts';
import {
  countProtectedConfigs,
  findDanglingReferences,
  explainMissingConfig,
} from '../../src/references/dangling-references.ts';
import { parseNodeReferrer, parsePoolReferrer } from '../../src/references/parse-referrer.ts';

const MCO = 'machineconfiguration.openshift.io';
const CONFIG = toConfigName(`rendered-worker-${'a'.repeat(32)}`);
const MISSING = toConfigName(`rendered-worker-${'b'.repeat(32)}`);
const CONFIGS: ReadonlySet<ConfigName> = new Set([CONFIG, toConfigName('99-worker')]);

function node(annotations: Record<string, string>) {
  const all = Object.fromEntries(Object.entries(annotations).map(([key, value]) => [`${MCO}/${key}`, value]));
  return parseNodeReferrer({ metadata: { name: 'worker-0', annotations: all } });
}

function configuration(name?: string): object {
  return name === undefined ? {} : { configuration: { name } };
}

function pool(spec?: string, status?: string, deletionTimestamp?: string) {
  return parsePoolReferrer({
    metadata: { name: 'worker', deletionTimestamp },
    spec: configuration(spec),
    status: configuration(status),
  });
}

test('finds missing configs in one or both annotations of a node', () => {
  expect(findDanglingReferences([node({ currentConfig: CONFIG, desiredConfig: MISSING })], CONFIGS)).toEqual([
    { kind: 'Node', name: 'worker-0', field: 'desiredConfig', config: MISSING },
  ]);
  expect(findDanglingReferences([node({ currentConfig: MISSING, desiredConfig: MISSING })], CONFIGS)).toHaveLength(2);
});

test('finds nothing for existing configs, source configs and unreported nodes', () => {
  const nodes = [node({ currentConfig: CONFIG, desiredConfig: '99-worker' }), node({}), pool(CONFIG, CONFIG)];
  expect(findDanglingReferences(nodes, CONFIGS)).toEqual([]);
});

test('ignores weak references', () => {
  expect(findDanglingReferences([node({ currentConfig: CONFIG, desiredDrain: `drain-${MISSING}` })], CONFIGS)).toEqual(
    [],
  );
});

test('finds an empty status of a pool whose spec names a config', () => {
  expect(findDanglingReferences([pool(CONFIG)], CONFIGS)).toEqual([
    { kind: 'MachineConfigPool', name: 'worker', field: 'status', config: undefined },
  ]);
  expect(findDanglingReferences([pool(), pool(undefined, undefined)], CONFIGS)).toEqual([]);
});

test('ignores a terminating pool', () => {
  expect(findDanglingReferences([pool(MISSING, MISSING, '2026-01-01T00:00:00Z')], CONFIGS)).toEqual([]);
});

test('counts each existing rendered config that is in use once', () => {
  const referrers = [
    node({ currentConfig: CONFIG, desiredConfig: CONFIG }),
    node({ currentConfig: MISSING }),
    pool(CONFIG, '99-worker'),
  ];
  expect(countProtectedConfigs(referrers, CONFIGS)).toBe(1);
});

test('explains whether a missing config was deleted, was never seen, or is not named', () => {
  expect(explainMissingConfig(MISSING, undefined)).toMatch(/^never seen in this cluster/);
  expect(explainMissingConfig(MISSING, new Date('2026-11-21T12:00:00Z'))).toBe('deleted at 2026-11-21T12:00:00.000Z');
  expect(explainMissingConfig(undefined, undefined)).toMatch(/names no config in its status/);
});
