import { expect, test } from 'vitest';
import { type ConfigName, toConfigName } from '../../src/decision/references.ts';
import { findDanglingReferences, judgeEmptyStatus } from '../../src/diagnosis/dangling-references.ts';
import { parseNodeReferrer, parsePoolReferrer } from '../../src/references/sources.ts';

const MCO = 'machineconfiguration.openshift.io';
const CONFIG = toConfigName(`rendered-worker-${'a'.repeat(32)}`);
const MISSING = toConfigName(`rendered-worker-${'b'.repeat(32)}`);
const CONFIGS: ReadonlySet<ConfigName> = new Set([CONFIG, toConfigName('99-worker')]);

function node(annotations: Record<string, string>) {
  const all = Object.fromEntries(Object.entries(annotations).map(([key, value]) => [`${MCO}/${key}`, value]));
  return parseNodeReferrer({ metadata: { name: 'worker-0', annotations: all } });
}

function pool(spec?: string, status?: string, deletionTimestamp?: string) {
  return parsePoolReferrer({
    metadata: { name: 'worker', deletionTimestamp, finalizers: ['foregroundDeletion'] },
    spec: { configuration: { name: spec } },
    status: { configuration: { name: status } },
  });
}

test.each([
  ['existing configs', pool(CONFIG, CONFIG)],
  ['an existing source config', node({ currentConfig: CONFIG, desiredConfig: '99-worker' })],
  ['an unreported node', node({})],
  ['a weak reference', node({ currentConfig: CONFIG, desiredDrain: `drain-${MISSING}` })],
  ['a pool without configs', pool()],
  ['a pool without a config in its status', pool(CONFIG)],
  ['a terminating pool', pool(MISSING, MISSING, '2026-01-01T00:00:00Z')],
])('finds nothing for %s', (_case, referrer) => {
  expect(findDanglingReferences([referrer], CONFIGS)).toEqual([]);
});

test.each([
  ['infra', 29, 0, false, undefined],
  ['infra', 30, 0, false, 'RolloutUnfinished'],
  ['infra', 0, 0, true, 'StatusEmpty'],
  ['infra', 29, 1, true, undefined],
  ['infra', 30, 1, true, 'RolloutUnfinished'],
  ['infra', Number.NaN, 0, false, 'RolloutUnfinished'],
  ['master', 0, 0, false, 'StatusEmpty'],
  ['worker', 0, 0, false, 'StatusEmpty'],
  ['arbiter', 0, 0, false, 'StatusEmpty'],
  ['master', 0, 1, false, undefined],
])(
  'judges the empty status of pool %s, %d minutes old, with %d updated machines, a dangling node: %s',
  (name, minutes, updatedMachineCount, hasDanglingNode, code) => {
    const now = new Date('2026-11-21T12:00:00Z');
    const since = new Date(now.getTime() - minutes * 60_000);
    const creationTimestamp = Number.isNaN(minutes) ? undefined : since.toISOString();
    const referrer = parsePoolReferrer({
      metadata: { name, creationTimestamp },
      spec: { configuration: { name: CONFIG } },
      status: { updatedMachineCount },
    });
    expect(judgeEmptyStatus(referrer, hasDanglingNode, now)).toBe(code);
    expect(judgeEmptyStatus(pool(CONFIG, CONFIG), hasDanglingNode, now)).toBeUndefined();
  },
);
