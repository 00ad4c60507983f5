import { expect, test } from 'vitest';
import { toConfigName, type ConfigName } from '../../src/decision/config-name.ts';
import {
  countProtectedConfigs,
  findDanglingReferences,
  explainMissingConfig,
} from '../../src/references/dangling-references.ts';
import { parseNodeReferrer, parsePoolReferrer } from '../../src/references/parse-referrer.ts';

const MCO = 'machineconfiguration.openshift.io';
const HERE = toConfigName(`rendered-worker-${'a'.repeat(32)}`);
const GONE = toConfigName(`rendered-worker-${'b'.repeat(32)}`);
const CONFIGS: ReadonlySet<ConfigName> = new Set([HERE, toConfigName('99-worker')]);

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

test('a node that names what does not exist, in one annotation or in both', () => {
  expect(findDanglingReferences([node({ currentConfig: HERE, desiredConfig: GONE })], CONFIGS)).toEqual([
    { kind: 'Node', name: 'worker-0', field: 'desiredConfig', config: GONE },
  ]);
  expect(findDanglingReferences([node({ currentConfig: GONE, desiredConfig: GONE })], CONFIGS)).toHaveLength(2);
});

test('what exists does not dangle, a source config neither; a node that has said nothing names nothing', () => {
  const nodes = [node({ currentConfig: HERE, desiredConfig: '99-worker' }), node({}), pool(HERE, HERE)];
  expect(findDanglingReferences(nodes, CONFIGS)).toEqual([]);
});

test('a name that is only a note may lead nowhere', () => {
  expect(findDanglingReferences([node({ currentConfig: HERE, desiredDrain: `drain-${GONE}` })], CONFIGS)).toEqual([]);
});

test('a pool whose status names nothing although its spec does', () => {
  expect(findDanglingReferences([pool(HERE)], CONFIGS)).toEqual([
    { kind: 'MachineConfigPool', name: 'worker', field: 'status', config: undefined },
  ]);
  expect(findDanglingReferences([pool(), pool(undefined, undefined)], CONFIGS)).toEqual([]);
});

test('a pool that is being deleted does not count', () => {
  expect(findDanglingReferences([pool(GONE, GONE, '2026-01-01T00:00:00Z')], CONFIGS)).toEqual([]);
});

test('protected are rendered configs that exist and are in use, each once', () => {
  const referrers = [
    node({ currentConfig: HERE, desiredConfig: HERE }),
    node({ currentConfig: GONE }),
    pool(HERE, '99-worker'),
  ];
  expect(countProtectedConfigs(referrers, CONFIGS)).toBe(1);
});

test('never seen is something else than deleted', () => {
  expect(explainMissingConfig(GONE, undefined)).toMatch(/^never seen in this cluster/);
  expect(explainMissingConfig(GONE, new Date('2026-11-21T12:00:00Z'))).toBe('deleted at 2026-11-21T12:00:00.000Z');
  expect(explainMissingConfig(undefined, undefined)).toMatch(/names no config in its status/);
});
