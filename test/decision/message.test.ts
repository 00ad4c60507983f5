import { expect, test } from 'vitest';
import { ALLOW_DELETION_ANNOTATION, DEFAULT_SETTINGS, type Settings } from '../../src/decision/settings.ts';
import type { Review } from '../../src/decision/review.ts';
import { toConfigName } from '../../src/decision/config-name.ts';
import { decide } from '../../src/decision/decide.ts';
import type { ClusterState, Referrer, ReferrerKind, Strength } from '../../src/decision/references.ts';
import type { Verdict } from '../../src/decision/verdict.ts';

const NAME = toConfigName('rendered-worker-a4983d88dabdc54ecf977ee120fd3796');
const NOW = new Date('2026-11-20T12:00:00Z');

function review(annotations: Record<string, string> = {}): Review {
  const config = { name: NAME, uid: 'c', annotations: new Map(Object.entries(annotations)) };
  return { uid: 'u', dryRun: false, user: 'kube:admin', config };
}

function createReferrer(
  kind: ReferrerKind,
  name: string,
  fields: readonly string[],
  strength: Strength = 'strong',
): Referrer {
  return { kind, name, references: fields.map((field) => ({ field, config: NAME, strength })) };
}

function decideReferrers(
  referrers: readonly Referrer[],
  state: Partial<ClusterState> = {},
  settings: Settings = DEFAULT_SETTINGS,
): Verdict {
  return decide(review(), { referrers, unreadable: [], ...state }, settings, NOW);
}

test('names at most three referrers of a kind, and counts the others', () => {
  const nodes = ['worker-0', 'worker-1', 'worker-2', 'worker-3', 'worker-4'].map((name) =>
    createReferrer('Node', name, ['currentConfig']),
  );
  const { message } = decideReferrers([...nodes, createReferrer('MachineConfigPool', 'worker', ['spec'])]);
  expect(message).toBe(
    `MCG_IN_USE: ${NAME} is in use by 5 nodes (worker-0 currentConfig, worker-1 currentConfig, worker-2 currentConfig and 2 more) and pool worker (spec). ` +
      'Deleting it would leave them Degraded. Delete it once they have moved on to another config. ' +
      'See https://github.com/machineconfig-guard/machineconfig-guard/blob/main/docs/codes.md#mcg_in_use',
  );
});

test('names both fields of one node', () => {
  expect(decideReferrers([createReferrer('Node', 'worker-0', ['currentConfig', 'desiredConfig'])]).message).toContain(
    'is in use by node worker-0 (currentConfig, desiredConfig). Deleting it would leave the node Degraded. Delete it once the node has moved on to another config.',
  );
});

test('says that the build would fail if only a build uses the config', () => {
  const { message } = decideReferrers([createReferrer('MachineOSBuild', 'worker-1234', ['machineConfig'])]);
  expect(message).toContain('is in use by build worker-1234 (machineConfig). Deleting it would make the build fail.');
  expect(message).not.toContain('Degraded');
});

test('says how to remove a node from its pool if the pool is terminating', () => {
  const pool: Referrer = { kind: 'MachineConfigPool', name: 'worker', references: [], isTerminating: true };
  expect(decideReferrers([pool, createReferrer('Node', 'worker-0', ['currentConfig'])]).message).toContain(
    "Its pool is being deleted: remove the pool's label from the node, and delete the config once it has moved to another one.",
  );
});

test('denies despite an override without a reason, and mentions it', () => {
  const verdict = decide(
    review({ [ALLOW_DELETION_ANNOTATION]: ' ' }),
    { referrers: [createReferrer('Node', 'worker-0', ['currentConfig'])], unreadable: [] },
    DEFAULT_SETTINGS,
    NOW,
  );
  expect(verdict).toMatchObject({ outcome: 'denied', code: 'MCG_IN_USE' });
  expect(verdict.message).toContain('Its allow-deletion annotation has no reason and does not count.');
});

test('warns with the reason of an override, shortened to one line', () => {
  const reason = `first\nsecond\u202e${'x'.repeat(500)}`;
  const verdict = decide(
    review({ [ALLOW_DELETION_ANNOTATION]: reason }),
    { referrers: [], unreadable: [] },
    DEFAULT_SETTINGS,
    NOW,
  );
  expect(verdict).toMatchObject({ outcome: 'overridden', code: 'MCG_OVERRIDDEN' });
  expect(verdict.warnings[0]).toMatch(/^MCG_OVERRIDDEN: deletion allowed by annotation: first second x+\.\.\.$/);
});

test('names unreadable kinds and the reasons, and does not claim that the config is in use', () => {
  const unreadable = [
    { name: 'nodes', reason: 'the API server answered 500' },
    { name: 'machineconfigpools', reason: 'no complete answer in time' },
  ];
  const verdict = decideReferrers([], { unreadable });
  expect(verdict.denialStatus).toEqual({ code: 503, reason: 'ServiceUnavailable' });
  expect(verdict.message).toContain(
    `MCG_UNVERIFIED: could not verify whether ${NAME} is in use (nodes: the API server answered 500 and machineconfigpools: no complete answer in time). Nothing was deleted.`,
  );
  expect(verdict.message).not.toContain('in use by');
});

test('says since when and until when a config is held', () => {
  const renderedConfigs = [
    { name: NAME, createdAt: new Date('2026-11-20T10:00:00Z') },
    {
      name: toConfigName('rendered-worker-b4983d88dabdc54ecf977ee120fd3796'),
      createdAt: new Date('2026-11-20T11:45:00Z'),
    },
  ];
  const verdict = decideReferrers([], { renderedConfigs }, { mode: 'Enforce', holdSupersededMs: 30 * 60_000 });
  expect(verdict).toMatchObject({ code: 'MCG_HELD', denialStatus: { code: 403, reason: 'Forbidden' } });
  expect(verdict.message).toContain(
    'superseded at 2026-11-20T11:45:00.000Z and is held until 2026-11-20T12:15:00.000Z',
  );
});

test('denies as unverified if a hold is set and the configs are missing', () => {
  expect(decideReferrers([], {}, { mode: 'Enforce', holdSupersededMs: 1 })).toMatchObject({ code: 'MCG_UNVERIFIED' });
});

test('warns about weak references and unreported nodes if it allows', () => {
  const verdict = decideReferrers([
    createReferrer('MachineOSBuild', 'worker-1', ['machineConfig'], 'weak'),
    { kind: 'Node', name: 'fresh', references: [], isUnreported: true },
  ]);
  expect(verdict).toMatchObject({ outcome: 'allowed', code: 'MCG_NOT_IN_USE' });
  expect(verdict.warnings).toEqual([
    `${NAME} is still mentioned by build worker-1 (machineConfig)`,
    '1 node has not reported a configuration yet',
  ]);
});

test('warns the client in mode Warn and not in mode Audit, with the denial as the cause', () => {
  const referrers = [createReferrer('Node', 'worker-0', ['currentConfig'])];
  const warn = decideReferrers(referrers, {}, { mode: 'Warn', holdSupersededMs: 0 });
  const audit = decideReferrers(referrers, {}, { mode: 'Audit', holdSupersededMs: 0 });
  expect(warn).toMatchObject({ outcome: 'would-deny', code: 'MCG_WOULD_DENY', cause: 'MCG_IN_USE' });
  expect(warn.warnings).toEqual([`MCG_WOULD_DENY (MCG_IN_USE): mode Enforce would refuse to delete ${NAME}`]);
  expect(audit).toMatchObject({ outcome: 'would-deny', cause: 'MCG_IN_USE', warnings: [] });
});
