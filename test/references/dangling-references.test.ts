import { expect, test } from 'vitest';
import { toConfigName, type ConfigName } from '../../src/decision/config-name.ts';
import { findDanglingReferences, findProtectedConfigs } from '../../src/references/dangling-references.ts';
import { parseNodeReferrer, parsePoolReferrer } from '../../src/references/parse-referrer.ts';

const MCO = 'machineconfiguration.openshift.io';
const CONFIG = toConfigName(`rendered-worker-${'a'.repeat(32)}`);
const MISSING = toConfigName(`rendered-worker-${'b'.repeat(32)}`);
const CONFIGS: ReadonlySet<ConfigName> = new Set([CONFIG, toConfigName('99-worker')]);

function node(annotations: Record<string, string>) {
  const all = Object.fromEntries(
    Object.entries(annotations).map(([key, value]) => [`${MCO}/${key}`, value]),
  );
  return parseNodeReferrer({ metadata: { name: 'worker-0', annotations: all } });
}

function pool(spec?: string, status?: string, deletionTimestamp?: string) {
  return parsePoolReferrer({
    metadata: { name: 'worker', deletionTimestamp },
    spec: { configuration: { name: spec } },
    status: { configuration: { name: status } },
  });
}

test('finds missing configs in one or both annotations of a node', () => {
  const reference = { kind: 'Node', name: 'worker-0', field: 'desiredConfig', config: MISSING };
  const [one, both] = [CONFIG, MISSING].map((config) =>
    findDanglingReferences([node({ currentConfig: config, desiredConfig: MISSING })], CONFIGS),
  );
  expect(one).toEqual([reference]);
  expect(both).toEqual([{ ...reference, field: 'currentConfig' }, reference]);
});

test.each([
  ['existing configs', pool(CONFIG, CONFIG)],
  ['an existing source config', node({ currentConfig: CONFIG, desiredConfig: '99-worker' })],
  ['an unreported node', node({})],
  ['a weak reference', node({ currentConfig: CONFIG, desiredDrain: `drain-${MISSING}` })],
  ['a pool without configs', pool()],
  ['a terminating pool', pool(MISSING, MISSING, '2026-01-01T00:00:00Z')],
])('finds nothing for %s', (_case, referrer) => {
  expect(findDanglingReferences([referrer], CONFIGS)).toEqual([]);
});

test('finds an empty status of a pool whose spec names a config', () => {
  expect(findDanglingReferences([pool(CONFIG)], CONFIGS)).toEqual([
    { kind: 'MachineConfigPool', name: 'worker', field: 'status', config: undefined },
  ]);
});

test('finds each existing rendered config that is in use once', () => {
  const referrers = [
    node({ currentConfig: CONFIG, desiredConfig: CONFIG }),
    node({ currentConfig: MISSING }),
    pool(CONFIG, '99-worker'),
  ];
  expect([...findProtectedConfigs(referrers, CONFIGS)]).toEqual([CONFIG]);
});
