import { expect, test } from 'vitest';
import {
  type ClusterState,
  type PoolReferrer,
  type Referrer,
  type ReferrerKind,
  toConfigName,
} from '../../src/decision/references.ts';
import { allowOtherObject, decide, denyBadReview, denyUnverified } from '../../src/decision/decide.ts';
import type { Hold } from '../../src/decision/hold.ts';
import { explainHold } from '../../src/decision/message.ts';
import type { Settings } from '../../src/decision/settings.ts';
import type { Verdict } from '../../src/decision/verdict.ts';

const NAME = toConfigName(`rendered-worker-${'a'.repeat(32)}`);
const OTHER = toConfigName(`rendered-worker-${'b'.repeat(32)}`);
const NOW = new Date('2026-11-20T12:00:00Z');
const CREATED_AT = new Date('2026-11-20T08:00:00Z');
const ALLOWED = { outcome: 'allowed', references: [], referencesTotal: 0, warnings: [] };

function toHelp(code: string): string {
  const page = 'https://github.com/machineconfig-guard/machineconfig-guard/blob/main/docs/codes.md';
  return `Run machineconfig-guard explain ${code}, or see ${page}#${code.toLowerCase()}`;
}

interface Situation extends Partial<ClusterState & Settings> {
  readonly name?: string;
  readonly allowDeletion?: string;
}

function decideSituation({ name = NAME, allowDeletion, ...situation }: Situation = {}) {
  const { mode = 'Enforce', holdSupersededMs = 0, ...state } = situation;
  const annotation = allowDeletion === undefined ? {} : { allowDeletion };
  const config = { name: toConfigName(name), uid: 'c', createdAt: CREATED_AT, ...annotation };
  const review = { uid: 'u', isDryRun: false, user: 'x', config };
  const readState = { referrers: [], unreadable: [], readAt: NOW, ...state };
  return decide(review, readState, { mode, holdSupersededMs }, { createdAt: () => undefined });
}

function toReferrer(kind: ReferrerKind, name: string, fields: readonly string[], config = NAME): Referrer {
  const references = fields.map((field) => ({ field, config, strength: 'strong' }) as const);
  return kind === 'Node' ? { kind, name, references, state: { type: 'configured' } } : { kind, name, references };
}

function toPool(name: string, extras: Partial<PoolReferrer> = {}): PoolReferrer {
  return { kind: 'MachineConfigPool', name, references: [], ...extras };
}

function toNode(name: string, fields: readonly string[] = ['currentConfig']): Referrer {
  return toReferrer('Node', name, fields);
}

function toUnreportedNode(name: string): Referrer {
  return { kind: 'Node', name, references: [], state: { type: 'unreported', createdAt: undefined, labels: undefined } };
}

function toUnverified(subject: string): string {
  const advice = "check the guard's logs, its RBAC and its connection to the API server.";
  const retry = `Nothing was deleted. Retry. If it persists, ${advice}`;
  return `MCG_UNVERIFIED: could not verify whether ${subject}. ${retry} ${toHelp('MCG_UNVERIFIED')}`;
}

function toInUse(referrers: string, effect: string, advice: string): string {
  const result = `Deleting it ${effect}. ${advice}`;
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

const LEAVE_NODE = 'would leave the node Degraded';
const NO_RENDER = 'Degraded, and would not force a new render';
const ONCE_IT_HAS = 'Delete the config once the node has moved to another one.';
const IN_TWO_POOLS = 'Node b is in the custom pools infra and rt, so the operator does not move it';
const LEAVE_THEM = 'would leave them Degraded';
const ON_NODE = toInUse('node a (currentConfig)', LEAVE_NODE, onceMoved('the node has'));

const NO_CONFIG = { uid: 'u', isDryRun: false, user: 'x', config: undefined };
const NODES_UNREADABLE = { referrers: [], unreadable: [{ name: 'nodes', reason: 'broken' }] };
const ENFORCE: Settings = { mode: 'Enforce', holdSupersededMs: 0 };
const UNVERIFIED = { outcome: 'denied', denialStatus: { code: 503, reason: 'ServiceUnavailable' } };
const OTHER_OBJECT = 'MCG_NOT_RENDERED: not the deletion of a rendered MachineConfig';
const IN_USE_BY_A = {
  outcome: 'would-deny',
  cause: 'MCG_IN_USE',
  references: [{ kind: 'Node', name: 'a', field: 'currentConfig', config: NAME, strength: 'strong' }],
  referencesTotal: 1,
};
const ALLOWS_ONLY_HERE = 'allows this deletion; mode Enforce would deny it.';
const MAY_BE_DELETED = 'may be deleted: its allow-deletion annotation gives a reason';
const OVERRIDDEN = {
  outcome: 'overridden',
  overrideReason: 'ticket 7',
  warnings: ['MCG_OVERRIDDEN: deletion allowed by annotation: ticket 7'],
};
const HELD_MESSAGE =
  `MCG_HELD: ${NAME} is held until 2026-11-20T12:01:01Z: pool worker last changed at 2026-11-20T12:00:00Z, ` +
  'and a machine may be booting with it. Delete it after that time, or give a reason in its annotation ' +
  `machineconfig-guard.io/allow-deletion. ${toHelp('MCG_HELD')}`;

function expectVerdict(verdict: Verdict, message: string, fields: object) {
  const [code] = message.split(':');
  expect(verdict).toEqual({ ...ALLOWED, code, message, ...fields });
}

test.each<[string, () => Verdict, string, object]>([
  ['another object', allowOtherObject, OTHER_OBJECT, {}],
  [
    'a review that is no deletion of a config',
    () => decide(NO_CONFIG, NODES_UNREADABLE, ENFORCE, { createdAt: () => undefined }),
    OTHER_OBJECT,
    {},
  ],
  [
    'an unknown name in mode Enforce',
    () => denyUnverified(undefined, NODES_UNREADABLE.unreadable, ENFORCE),
    toUnverified('the config is in use (nodes: broken)'),
    UNVERIFIED,
  ],
  [
    'an unknown name in mode Warn',
    () => denyUnverified(undefined, [], { ...ENFORCE, mode: 'Warn' }),
    `MCG_WOULD_DENY: mode Warn ${ALLOWS_ONLY_HERE} ${toUnverified('the config is in use ()')}`,
    { outcome: 'would-deny', cause: 'MCG_UNVERIFIED' },
  ],
  [
    'a review that is not readable',
    () => denyBadReview('the body is\nnot JSON'),
    `MCG_BAD_REVIEW: the body is not JSON. ${toHelp('MCG_BAD_REVIEW')}`,
    { outcome: 'denied', denialStatus: { code: 400, reason: 'BadRequest' } },
  ],
])('the whole verdict without a config, on %s', (_condition, decideReview, message, fields) => {
  expectVerdict(decideReview(), message, fields);
});

const RECENTLY_CHANGED: Situation = { referrers: [toPool('worker', { specChangedAt: NOW })], holdSupersededMs: 60_000 };

test.each<[Situation, string, object]>([
  [{ name: '00-worker' }, 'MCG_NOT_RENDERED: 00-worker is not a rendered config', { config: '00-worker' }],
  [{}, `MCG_NOT_IN_USE: ${NAME} is not in use`, {}],
  [{ allowDeletion: ' ticket 7\n' }, `MCG_OVERRIDDEN: ${NAME} ${MAY_BE_DELETED}`, OVERRIDDEN],
  [{ mode: 'Disabled' }, `MCG_DISABLED: ${NAME} was not checked: the guard is disabled`, {}],
  [
    { referrers: [toNode('a')], mode: 'Audit' },
    `MCG_WOULD_DENY: mode Audit ${ALLOWS_ONLY_HERE} ${ON_NODE}`,
    IN_USE_BY_A,
  ],
  [{ readAt: undefined }, toUnverified(`${NAME} is in use ()`), UNVERIFIED],
  [RECENTLY_CHANGED, HELD_MESSAGE, { outcome: 'denied', denialStatus: { code: 403, reason: 'Forbidden' } }],
])('the whole verdict on %j', (situation, message, fields) => {
  expectVerdict(decideSituation(situation), message, { config: NAME, ...fields });
});

const WORKER = toReferrer('MachineConfigPool', 'worker', ['spec']);
const BUILD = toReferrer('MachineOSBuild', 'b', ['machineConfig']);
const LIVE = toPool('worker');
const TERMINATING = toPool('worker', { isTerminating: true });
const INFRA_STATUS = toReferrer('MachineConfigPool', 'infra', ['status']);
const INFRA = toPool('infra');

test.each<[string, string, string, readonly Referrer[]]>([
  ['node a (currentConfig)', LEAVE_NODE, onceMoved('the node has'), [toNode('a')]],
  ['pool worker (spec)', `would leave the pool ${NO_RENDER}`, onceMoved('the pool has'), [WORKER]],
  ['pool infra (status)', 'would leave the pool Degraded', onceMoved('the pool has'), [INFRA_STATUS, LIVE]],
  [
    'node a (reason)',
    'could keep the node Degraded',
    'Delete it once the node is no longer Degraded.',
    [toNode('a', ['reason'])],
  ],
  [
    '2 nodes (a reason, b reason)',
    'could keep them Degraded',
    'Delete it once none of them is Degraded.',
    [toNode('a', ['reason']), toNode('b', ['reason'])],
  ],
  ['2 nodes (a reason, b currentConfig)', LEAVE_THEM, onceMoved('they have'), [toNode('a', ['reason']), toNode('b')]],
  [
    'node a (currentConfig)',
    LEAVE_NODE,
    `Node a is in no pool, so the operator does not move it: add the label of a pool. ${ONCE_IT_HAS}`,
    [{ ...toNode('a'), conflictingPools: [] } as Referrer, TERMINATING],
  ],
  [
    '2 nodes (a currentConfig, b currentConfig)',
    LEAVE_THEM,
    `${IN_TWO_POOLS}: keep the label of one. ${ONCE_IT_HAS}`,
    [toNode('a'), { ...toNode('b'), conflictingPools: ['infra', 'rt'] } as Referrer, LIVE],
  ],
  ['build b (machineConfig)', 'would make the build fail', 'Delete it once the build has ended.', [BUILD]],
  [
    'node a (currentConfig) and pool worker (spec)',
    `would leave them ${NO_RENDER}`,
    onceMoved('they have'),
    [toNode('a'), WORKER],
  ],
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
])('the message of a config in use by %s: deletion %s. %s', (text, effect, advice, referrers) => {
  expect(decideSituation({ referrers }).message).toBe(toInUse(text, effect, advice));
});

test.each<[string, boolean, readonly Referrer[], string?]>([
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

test('names at most three referrers of a kind, and counts the others', () => {
  const nodes = ['a', 'b', 'c', 'd', 'e'].map((name) => toNode(name));
  const text = '5 nodes (a currentConfig, b currentConfig, c currentConfig and 2 more) and pool worker (spec)';
  const { message } = decideSituation({ referrers: [...nodes, WORKER] });
  expect(message).toBe(toInUse(text, `would leave them ${NO_RENDER}`, onceMoved('they have')));
});

const UNREADABLE = [
  { name: 'nodes', reason: 'broken' },
  { name: 'machineconfigpools', reason: 'late' },
];
test.each<[string, Situation, string]>([
  [
    'mentions an ignored override',
    { referrers: [toNode('a')], allowDeletion: ' ' },
    'has no reason, so it is ignored.',
  ],
  [
    'names unreadable kinds and the reasons',
    { unreadable: UNREADABLE },
    toUnverified(`${NAME} is in use (nodes: broken and machineconfigpools: late)`),
  ],
])('%s', (_title, situation, text) => {
  expect(decideSituation(situation).message).toContain(text);
});

test.each<[Hold['cause'], string]>([
  ['ConfigCreated', 'it was created at 2026-11-20T12:00:00Z, and a machine may be booting with it'],
  ['NodeUnreported', 'node fresh, which may be booting with it, has not reported its config'],
  ['PoolChanged', 'pool worker last changed at 2026-11-20T12:00:00Z, and a machine may be booting with it'],
  ['PoolNamed', 'pool worker last named it at 2026-11-20T12:00:00Z, and a machine may be booting with it'],
  ['PoolUndated', 'nothing dates the last change of pool worker, and a machine may be booting with it'],
  [
    'PoolWatched',
    'the guard has watched pool worker only since 2026-11-20T12:00:00Z, and a machine may be booting with it',
  ],
])('explains a hold because of %s', (cause, text) => {
  expect(explainHold({ cause, since: NOW, until: NOW, pool: 'worker', node: 'fresh' })).toBe(text);
});

test('warns with the reason of an override, shortened to one line', () => {
  const [warning] = decideSituation({ allowDeletion: `first\nsecond\u202e${'x'.repeat(500)}` }).warnings;
  expect(warning).toMatch(/^MCG_OVERRIDDEN: deletion allowed by annotation: first second x+\.\.\.$/);
  // The longest warning that Kubernetes recommends.
  expect(warning).toHaveLength(120);
});

const WEAK_BUILD: Referrer = {
  kind: 'MachineOSBuild',
  name: 'b',
  references: [{ field: 'machineConfig', config: NAME, strength: 'weak' }],
};
const WOULD_DENY = `MCG_WOULD_DENY (MCG_IN_USE): mode Enforce would deny deleting ${NAME}`;
const UNREPORTED = [...['a', 'c'].map(toUnreportedNode), toReferrer('Node', 'b', ['currentConfig'], OTHER)];

test.each<[string, Situation, readonly string[]]>([
  ['about unreported nodes', { referrers: UNREPORTED }, ['2 nodes have not reported a configuration yet']],
  [
    'about weak references and an unreported node',
    { referrers: [WEAK_BUILD, toUnreportedNode('a')] },
    [`${NAME} is still referenced by build b (machineConfig)`, '1 node has not reported a configuration yet'],
  ],
  ['in mode Warn', { referrers: [toNode('a')], mode: 'Warn' }, [WOULD_DENY]],
])('warns the client %s', (_case, situation, warnings) => {
  expect(decideSituation(situation).warnings).toEqual(warnings);
});
