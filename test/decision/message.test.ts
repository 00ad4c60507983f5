import { expect, test } from 'vitest';
import type { Settings } from '../../src/decision/settings.ts';
import { formatHelpNote } from '../../src/decision/codes.ts';
import { toConfigName } from '../../src/decision/config-name.ts';
import { decide } from '../../src/decision/decide.ts';
import type { ClusterState, Referrer, ReferrerKind, Strength } from '../../src/decision/references.ts';

const NAME = toConfigName(`rendered-worker-${'a'.repeat(32)}`);
const NOW = new Date('2026-11-20T12:00:00Z');

function createReferrer(kind: ReferrerKind, name: string, fields: readonly string[], strength: Strength = 'strong') {
  return { kind, name, references: fields.map((field) => ({ field, config: NAME, strength })) } as Referrer;
}

const WORKER = createReferrer('Node', 'worker-0', ['currentConfig']);
const POOL: Referrer = { kind: 'MachineConfigPool', name: 'worker', references: [] };
const CHANGED: Referrer = { ...POOL, specChangedAt: new Date('2026-11-20T11:44:59Z') };
const FRESH: Referrer = { kind: 'Node', name: 'fresh', references: [], createdAt: new Date('2026-11-20T11:50:00Z') };

interface Situation extends Partial<ClusterState & Settings> {
  readonly override?: string;
}

function decideReferrers(referrers: readonly Referrer[], situation: Situation = {}) {
  const { override: allowDeletion = '', mode = 'Enforce', holdSupersededMs = 0, ...state } = situation;
  const config = { name: NAME, uid: 'c', createdAt: new Date('2026-11-20T08:00:00Z') };
  const isOverridden = situation.override !== undefined;
  const review = { uid: 'u', isDryRun: false, user: 'x', config: isOverridden ? { ...config, allowDeletion } : config };
  const readState = { referrers, unreadable: [], readAt: NOW, ...state };
  return decide(review, readState, { mode, holdSupersededMs }, () => undefined);
}

test('names at most three referrers of a kind, and counts the others', () => {
  const nodes = [0, 1, 2, 3, 4].map((index) => createReferrer('Node', `worker-${index}`, ['currentConfig']));
  const { message } = decideReferrers([...nodes, createReferrer('MachineConfigPool', 'worker', ['spec'])]);
  expect(message).toBe(
    `MCG_IN_USE: ${NAME} is in use by 5 nodes (worker-0 currentConfig, worker-1 currentConfig, ` +
      'worker-2 currentConfig and 2 more) and pool worker (spec). ' +
      'Deleting it would leave them Degraded. Delete it once they have moved on to another config. ' +
      formatHelpNote('MCG_IN_USE'),
  );
});

test.each<[ReferrerKind, string[], string]>([
  ['Node', ['currentConfig', 'desiredConfig'], 'leave the node Degraded'],
  ['MachineConfigPool', ['spec'], 'leave the pool Degraded'],
  ['MachineOSBuild', ['machineConfig'], 'make the build fail'],
])('names all fields of one %s and the result', (kind, fields, result) => {
  const { message } = decideReferrers([createReferrer(kind, 'a', fields)]);
  expect(message).toContain(` a (${fields.join(', ')}). Deleting it would ${result}. Delete it once`);
});

const UNREADABLE = [
  { name: 'nodes', reason: 'broken' },
  { name: 'machineconfigpools', reason: 'late' },
];
const HOLD = { holdSupersededMs: 30 * 60_000 };

test.each<[string, readonly Referrer[], Situation, string]>([
  [
    'says how to remove a node from its pool if the pool is terminating',
    [{ ...POOL, isTerminating: true }, WORKER],
    {},
    "Its pool is deleted: remove the pool's label from the node, or change another label if it is gone already",
  ],
  ['mentions an ignored override', [WORKER], { override: ' ' }, 'annotation has no reason, so it is ignored.'],
  [
    'names unreadable kinds and the reasons',
    [],
    { unreadable: UNREADABLE },
    `whether ${NAME} is in use (nodes: broken and machineconfigpools: late). Nothing was deleted. Retry.`,
  ],
  [
    'says until when and why a config is held, and how to delete it earlier',
    [CHANGED],
    HOLD,
    `MCG_HELD: ${NAME} is held until 2026-11-20T12:15:00Z: pool worker last changed at 2026-11-20T11:45:00Z, ` +
      'and a machine may be booting with it. Delete it after that time, ' +
      'or give a reason in its annotation machineconfig-guard.io/allow-deletion.',
  ],
  [
    'names the node because of which a config is held longer',
    [CHANGED, FRESH],
    HOLD,
    'T11:50:00Z: pool worker last changed at 2026-11-20T11:45:00Z, and node fresh, which may be booting with it, has',
  ],
])('%s', (_title, referrers, situation, text) => {
  const { message, denialStatus } = decideReferrers(referrers, situation);
  expect(message).toContain(text);
  const forbidden = { code: 403, reason: 'Forbidden' };
  const isUnreadable = situation.unreadable !== undefined;
  expect(denialStatus).toEqual(isUnreadable ? { code: 503, reason: 'ServiceUnavailable' } : forbidden);
});

test('warns with the reason of an override, shortened to one line', () => {
  const reason = `first\nsecond\u202e${'x'.repeat(500)}`;
  const [warning] = decideReferrers([], { override: reason }).warnings;
  expect(warning).toMatch(/^MCG_OVERRIDDEN: deletion allowed by annotation: first second x+\.\.\.$/);
  // The longest warning that Kubernetes recommends.
  expect(warning).toHaveLength(120);
});

test('warns about weak references and unreported nodes if it allows', () => {
  const verdict = decideReferrers([
    createReferrer('MachineOSBuild', 'worker-1', ['machineConfig'], 'weak'),
    { kind: 'Node', name: 'fresh', references: [], isConfigUnreported: true },
  ]);
  expect(verdict).toMatchObject({ outcome: 'allowed', code: 'MCG_NOT_IN_USE' });
  const weak = `${NAME} is still referenced by build worker-1 (machineConfig)`;
  expect(verdict.warnings).toEqual([weak, '1 node has not reported a configuration yet']);
});

test('warns the client in mode Warn and not in mode Audit', () => {
  const warnings = [`MCG_WOULD_DENY (MCG_IN_USE): mode Enforce would deny deleting ${NAME}`];
  expect(decideReferrers([WORKER], { mode: 'Warn' }).warnings).toEqual(warnings);
  expect(decideReferrers([WORKER], { mode: 'Audit' }).warnings).toEqual([]);
});
