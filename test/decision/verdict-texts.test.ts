import { describe, expect, test } from 'vitest';
import { toConfigName } from '../../src/decision/config-name.ts';
import { allowOtherObject, decide, denyBadReview, denyUnverified } from '../../src/decision/decide.ts';
import type { NodeReferrer, PoolReferrer, Referrer, ReferrerKind } from '../../src/decision/references.ts';
import type { Mode } from '../../src/decision/settings.ts';

const NAME = toConfigName(`rendered-worker-${'a'.repeat(32)}`);
const OTHER = toConfigName(`rendered-worker-${'b'.repeat(32)}`);
const NOW = new Date('2026-11-20T12:00:00Z');
const CREATED_AT = new Date('2026-11-20T08:00:00Z');
const ALLOWED = { outcome: 'allowed', references: [], referencesTotal: 0, warnings: [] };
const DENIED = { ...ALLOWED, outcome: 'denied' };

function toHelp(code: string): string {
  const page = 'https://github.com/machineconfig-guard/machineconfig-guard/blob/main/docs/codes.md';
  return `Run machineconfig-guard explain ${code}, or see ${page}#${code.toLowerCase()}`;
}

interface Situation {
  readonly name?: string;
  readonly allowDeletion?: string;
  readonly referrers?: readonly Referrer[];
  readonly unreadable?: readonly { readonly name: string; readonly reason: string }[];
  readonly readAt?: Date | undefined;
  readonly mode?: Mode;
  readonly holdSupersededMs?: number;
}

function decideSituation(situation: Situation = {}) {
  const { name = NAME, referrers = [], unreadable = [], mode = 'Enforce', holdSupersededMs = 0, ...rest } = situation;
  const { allowDeletion } = rest;
  const annotation = allowDeletion === undefined ? {} : { allowDeletion };
  const config = { name: toConfigName(name), uid: 'c', createdAt: CREATED_AT, ...annotation };
  const review = { uid: 'u', isDryRun: false, user: 'x', config };
  const state = { referrers, unreadable, readAt: 'readAt' in rest ? rest.readAt : NOW };
  return decide(review, state, { mode, holdSupersededMs }, () => undefined);
}

function toReferrer(kind: ReferrerKind, name: string, fields: readonly string[], config = NAME): Referrer {
  return { kind, name, references: fields.map((field) => ({ field, config, strength: 'strong' })) };
}

function toPool(name: string, extras: Partial<PoolReferrer> = {}): PoolReferrer {
  return { kind: 'MachineConfigPool', name, references: [], ...extras };
}

function toNode(name: string, fields: readonly string[] = ['currentConfig']): Referrer {
  return toReferrer('Node', name, fields);
}

function toUnreportedNode(name: string): NodeReferrer {
  return { kind: 'Node', name, references: [], isConfigUnreported: true };
}

function toUnverified(subject: string): string {
  const advice = "check the guard's logs, its RBAC and its connection to the API server.";
  const retry = `Nothing was deleted. Retry. If it persists, ${advice}`;
  return `MCG_UNVERIFIED: could not verify whether ${subject}. ${retry} ${toHelp('MCG_UNVERIFIED')}`;
}

function toInUse(referrers: string, effect: string, advice: string): string {
  const result = `Deleting it would ${effect}. ${advice}`;
  return `MCG_IN_USE: ${NAME} is in use by ${referrers}. ${result} ${toHelp('MCG_IN_USE')}`;
}

function onceMoved(subject: string): string {
  return `Delete it once ${subject} moved on to another config.`;
}

function onceRelabeled(nodes: string, subject: string): string {
  const label = `remove the pool's label from ${nodes}, or change another label if it is gone already`;
  const reason = 'because only then the operator moves a node';
  return `Its pool is deleted: ${label}, ${reason}. Delete the config once ${subject} moved to another one.`;
}

const LEAVE_NODE = 'leave the node Degraded';
const LEAVE_THEM = 'leave them Degraded';
const ON_NODE = toInUse('node a (currentConfig)', LEAVE_NODE, onceMoved('the node has'));

describe('the whole verdict', () => {
  test.each<[string, () => unknown, object]>([
    [
      'on another object',
      allowOtherObject,
      { ...ALLOWED, code: 'MCG_NOT_IN_USE', message: 'MCG_NOT_IN_USE: not the deletion of a MachineConfig' },
    ],
    [
      'on a review that is no deletion of a config',
      () =>
        decide(
          { uid: 'u', isDryRun: false, user: 'x', config: undefined },
          { referrers: [], unreadable: [{ name: 'nodes', reason: 'broken' }] },
          { mode: 'Enforce', holdSupersededMs: 0 },
          () => undefined,
        ),
      { ...ALLOWED, code: 'MCG_NOT_IN_USE', message: 'MCG_NOT_IN_USE: not the deletion of a MachineConfig' },
    ],
    [
      'on a source config',
      () => decideSituation({ name: '00-worker' }),
      {
        ...ALLOWED,
        code: 'MCG_NOT_IN_USE',
        config: '00-worker',
        message: 'MCG_NOT_IN_USE: 00-worker is not a rendered config',
      },
    ],
    [
      'on an unused config',
      () => decideSituation(),
      { ...ALLOWED, code: 'MCG_NOT_IN_USE', config: NAME, message: `MCG_NOT_IN_USE: ${NAME} is not in use` },
    ],
    [
      'with a reason between spaces',
      () => decideSituation({ allowDeletion: ' ticket 7\n' }),
      {
        ...ALLOWED,
        outcome: 'overridden',
        code: 'MCG_OVERRIDDEN',
        config: NAME,
        message: `MCG_OVERRIDDEN: ${NAME} may be deleted: its allow-deletion annotation gives a reason`,
        overrideReason: 'ticket 7',
        warnings: ['MCG_OVERRIDDEN: deletion allowed by annotation: ticket 7'],
      },
    ],
    [
      'in mode Disabled',
      () => decideSituation({ mode: 'Disabled' }),
      {
        ...ALLOWED,
        code: 'MCG_DISABLED',
        config: NAME,
        message: `MCG_DISABLED: ${NAME} was not checked: the guard is disabled`,
      },
    ],
    [
      'on a config in use in mode Audit',
      () => decideSituation({ referrers: [toNode('a')], mode: 'Audit' }),
      {
        ...ALLOWED,
        outcome: 'would-deny',
        code: 'MCG_WOULD_DENY',
        cause: 'MCG_IN_USE',
        config: NAME,
        message: `MCG_WOULD_DENY: mode Audit allows this deletion; mode Enforce would deny it. ${ON_NODE}`,
        references: [{ kind: 'Node', name: 'a', field: 'currentConfig', config: NAME, strength: 'strong' }],
        referencesTotal: 1,
      },
    ],
    [
      'without the time of the lists',
      () => decideSituation({ readAt: undefined }),
      {
        ...DENIED,
        code: 'MCG_UNVERIFIED',
        config: NAME,
        denialStatus: { code: 503, reason: 'ServiceUnavailable' },
        message: toUnverified(`${NAME} is in use ()`),
      },
    ],
    [
      'on a config whose name is unknown, in mode Enforce',
      () => denyUnverified(undefined, [{ name: 'nodes', reason: 'broken' }], { mode: 'Enforce', holdSupersededMs: 0 }),
      {
        ...DENIED,
        code: 'MCG_UNVERIFIED',
        denialStatus: { code: 503, reason: 'ServiceUnavailable' },
        message: toUnverified('the config is in use (nodes: broken)'),
      },
    ],
    [
      'on a config whose name is unknown, in mode Warn',
      () => denyUnverified(undefined, [], { mode: 'Warn', holdSupersededMs: 0 }),
      {
        ...ALLOWED,
        outcome: 'would-deny',
        code: 'MCG_WOULD_DENY',
        cause: 'MCG_UNVERIFIED',
        message: expect.stringContaining('mode Warn allows this deletion'),
      },
    ],
    [
      'on a review that is not readable',
      () => denyBadReview('the body is\nnot JSON'),
      {
        ...DENIED,
        code: 'MCG_BAD_REVIEW',
        denialStatus: { code: 400, reason: 'BadRequest' },
        message: `MCG_BAD_REVIEW: the body is not JSON. ${toHelp('MCG_BAD_REVIEW')}`,
      },
    ],
    [
      'on a held config',
      () => decideSituation({ referrers: [toPool('worker', { specChangedAt: NOW })], holdSupersededMs: 60_000 }),
      {
        ...DENIED,
        code: 'MCG_HELD',
        config: NAME,
        denialStatus: { code: 403, reason: 'Forbidden' },
        message:
          `MCG_HELD: ${NAME} is held until 2026-11-20T12:01:01Z: pool worker last changed at 2026-11-20T12:00:01Z, ` +
          'and a machine may be booting with it. Delete it after that time, or give a reason in its annotation ' +
          `machineconfig-guard.io/allow-deletion. ${toHelp('MCG_HELD')}`,
      },
    ],
  ])('%s', (_condition, decideReview, expected) => {
    expect(decideReview()).toEqual(expected);
  });
});

const WORKER = toReferrer('MachineConfigPool', 'worker', ['spec']);
const BUILD = toReferrer('MachineOSBuild', 'b', ['machineConfig']);
const LIVE = toPool('worker');
const TERMINATING = toPool('worker', { isTerminating: true });
const INFRA = toPool('infra');

describe('the message of a config in use', () => {
  test.each<[string, string, string, readonly Referrer[]]>([
    ['node a (currentConfig)', LEAVE_NODE, onceMoved('the node has'), [toNode('a')]],
    ['pool worker (spec)', 'leave the pool Degraded', onceMoved('the pool has'), [WORKER]],
    ['build b (machineConfig)', 'make the build fail', 'Delete it once the build has ended.', [BUILD]],
    ['node a (currentConfig) and pool worker (spec)', LEAVE_THEM, onceMoved('they have'), [toNode('a'), WORKER]],
    [
      '2 nodes (a currentConfig+desiredConfig, b currentConfig)',
      LEAVE_THEM,
      onceMoved('they have'),
      [toNode('a', ['currentConfig', 'desiredConfig']), toNode('b')],
    ],
    ['node a (currentConfig)', LEAVE_NODE, onceRelabeled('the node', 'it has'), [toNode('a'), TERMINATING]],
    [
      '2 nodes (a currentConfig, b currentConfig)',
      LEAVE_THEM,
      onceRelabeled('the nodes', 'they have'),
      [toNode('a'), toNode('b'), INFRA],
    ],
  ])('by %s: it would %s. %s', (text, effect, advice, referrers) => {
    expect(decideSituation({ referrers }).message).toBe(toInUse(text, effect, advice));
  });

  test.each<[string, boolean, readonly Referrer[], string?]>([
    ['its pool lives beside another one', false, [INFRA, LIVE]],
    ['its pool lives beside one that is being deleted', false, [LIVE, toPool('infra', { isTerminating: true })]],
    ['its pool is being deleted beside another one', true, [TERMINATING, INFRA]],
    ['the cluster has no pools', false, []],
    ['its name names no pool', false, [INFRA], 'rendered-by-hand'],
  ])('if %s, says that its pool is deleted: %s', (_condition, isDeleted, pools, name = NAME) => {
    const node = toReferrer('Node', 'a', ['currentConfig'], toConfigName(name));
    expect(decideSituation({ name, referrers: [node, ...pools] }).message.includes('Its pool is deleted')).toBe(
      isDeleted,
    );
  });
});

test.each<[string, readonly Referrer[]]>([
  ['1 node has', [toUnreportedNode('a'), toReferrer('Node', 'b', ['currentConfig'], OTHER)]],
  ['2 nodes have', [toUnreportedNode('a'), toUnreportedNode('b')]],
])('warns that %s not reported a configuration', (text, referrers) => {
  expect(decideSituation({ referrers }).warnings).toEqual([`${text} not reported a configuration yet`]);
});
