import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { CommandFormatter } from '../../src/client/output/advice.ts';
import { parseInspectedNode } from '../../src/client/inspected-objects.ts';
import { judgeEmptyStatus } from '../../src/diagnosis/dangling-references.ts';
import { diagnose } from '../../src/diagnosis/diagnose.ts';
import { approveRequest } from '../../src/diagnosis/cause-rules.ts';
import { canHaveBootstrapHost } from '../../src/diagnosis/cluster-snapshot.ts';
import { createNearestFinder } from '../../src/diagnosis/nearest-name.ts';
import { quote } from '../../src/diagnosis/quote.ts';
import { planRepairs } from '../../src/diagnosis/repair.ts';
import { NEW, OLD } from '../cli/inspected-cluster.ts';
import { NAMES } from '../support/arbitrary.ts';
import { checkProperty } from '../support/check-property.ts';
import { check, inspectedNode, inspectedPool, MISSING, WORKER } from './checked-cluster.ts';
import { getState, NOW, readState, STATES } from './states.ts';
import { MCO_GROUP } from '../../src/mco/api-paths.ts';
import { parsePoolName, toConfigName } from '../../src/mco/machine-config.ts';

test.each(Object.entries(STATES))('finds the problems and the repairs of state %s', (_name, state) => {
  const scope = { now: NOW, hasControlPlane: true };
  const { ok, recoverable, problems, repairs } = diagnose(readState(state), scope);

  const codes = new Set(problems.map((problem) => problem.code + (problem.recoverable ? '?' : '')));
  expect([...codes]).toEqual(state.problems);
  const lines = repairs.map(
    ({ text, command, alternative }) => (alternative ? '# ' : '') + (command?.words.join(' ') ?? text),
  );
  expect(lines).toEqual(state.repairs ?? []);
  expect(ok).toBe(state.problems.length === 0);
  expect(recoverable).toBe(!ok && state.problems.every((code) => code.endsWith('?')));
  for (const { recoverableReason, message } of problems) {
    expect(recoverableReason).not.toBe('');
    expect(message).not.toBe('');
  }
});

test.each([
  ['a daemon that does not start its update', 60, -140],
  ['a node that reboots', 15, 10],
  ['R38 just after the annotation', 2, 1],
  ['S2 with the text of 4.20, before the daemon gives up', 10, -10],
  ['a node that the operator has cordoned, and then left', 10, -10],
  ['a MachineConfig that the operator has not rendered', 10, 1],
  ['S6 with a build of another config', 10, -1],
  ['S7 after the annotation', 10, 9],
])('judges the state %s differently after %d minutes, but not a second earlier', (name, _limit, minutes) => {
  const diagnoseAfter = (ms: number) => {
    const now = new Date(NOW.getTime() + minutes * 60_000 + ms);
    return diagnose(readState(getState(name)), { now }).problems.map(({ code, recoverable }) => [code, recoverable]);
  };
  expect(diagnoseAfter(-1_000)).toEqual(diagnoseAfter(0));
  expect(diagnoseAfter(1_000)).not.toEqual(diagnoseAfter(0));
});

test('does not say that a build is gone if it may not list builds', () => {
  const { builds: _builds, ...snapshot } = readState(getState('S6'));
  expect(diagnose(snapshot, { now: NOW }).problems.map(({ code }) => code)).toEqual(['RolloutStalled']);
});

const NODE = inspectedNode('w0', { current: NEW, desired: NEW });
const POOL = inspectedPool('worker', { spec: NEW, status: NEW });
const UNMANAGED = 'the Machine Config Operator manages no node';

test.each([
  [0, 1, undefined, ['windows-0'], `${UNMANAGED} in the cluster`],
  [0, 1, 'os=windows', ['windows-0'], `${UNMANAGED} with label os=windows (pools: worker)`],
  [1, 2, 'role/worker', ['windows-0'], 'only 1 node with label role/worker, 2 are required'],
  [2, 3, undefined, [], 'only 2 nodes in the cluster, 3 are required'],
])(
  'with %i of %i nodes, the selector %j and without %j, says: %s',
  (count, minNodes, selector, skippedNodes, message) => {
    const facts = { configs: [NEW, OLD], skippedNodes, scope: { selector, minNodes } };
    const result = check([NODE, NODE].slice(0, count), [POOL], facts);
    expect(result).toMatchObject({ ok: false, recoverable: true, problems: [{ code: 'TooFewNodes', message }] });
  },
);

test.each([
  [undefined, true, 'nodes of the control plane, which the install-config wants, have not joined: 2 master nodes'],
  [1, true, undefined],
  [undefined, false, undefined],
])('expects the control plane of the install-config without --min-nodes (%s), if it is selected: %s', (...args) => {
  const [minNodes, hasControlPlane, message] = args;
  const nodes = [inspectedNode('m0', { current: NEW, desired: NEW, role: 'master' }), NODE];
  const pools = [POOL, inspectedPool('master', { spec: NEW, status: NEW })];
  const facts = { configs: [NEW], controlPlaneSize: { masters: 3, arbiters: 0 }, scope: { minNodes, hasControlPlane } };
  expect(check(nodes, pools, facts).problems[0]?.message).toBe(message);
  expect(check([...nodes, ...nodes, ...nodes], pools, facts).problems).toEqual([]);
});

test.each([
  ['infra', 29, 0, false, undefined],
  ['infra', 30, 0, false, 'RolloutUnfinished'],
  ['infra', 0, 0, true, 'StatusEmpty'],
  ['infra', 29, 1, true, undefined],
  ['arbiter', 0, 0, false, 'StatusEmpty'],
  ['master', 0, 1, false, undefined],
])(
  'judges the empty status of pool %s, %d minutes old, with %d updated machines, a dangling node: %s',
  (name, ageMinutes, updatedMachineCount, hasDanglingNode, code) => {
    const pool = inspectedPool(name, { spec: NEW, updatedMachineCount, ageMinutes });
    expect(judgeEmptyStatus(pool, hasDanglingNode, NOW)).toBe(code);
    const undated = { ...pool, emptyStatus: { since: undefined, hasUpdatedMachine: true, cannotRender: false } };
    expect(judgeEmptyStatus(undated, hasDanglingNode, NOW)).toBe('RolloutUnfinished');
  },
);

test('ignores a weak reference to a missing config', () => {
  const values = { currentConfig: NEW, desiredConfig: NEW, lastAppliedDrain: `uncordon-${MISSING}`, state: 'Done' };
  const annotations = Object.fromEntries(Object.entries(values).map(([key, value]) => [`${MCO_GROUP}/${key}`, value]));
  const metadata = { name: 'w1', labels: { 'node-role.kubernetes.io/worker': '' }, annotations };
  expect(check([parseInspectedNode({ metadata })], [POOL], { configs: [NEW] }).ok).toBe(true);
});

test('looks at each node of a large pool a few times only', () => {
  let reads = 0;
  const movedAt = {
    get: () => {
      reads += 1;
    },
  };
  const nodes = Array.from({ length: 200 }, (_each, index) =>
    Object.defineProperty(inspectedNode(`n${index}`, { current: OLD, desired: OLD }), 'movedAt', movedAt),
  );
  check(nodes, [inspectedPool('worker', { spec: NEW, status: OLD })], { configs: [OLD, NEW] });
  expect(reads).toBeLessThan(10 * nodes.length);
});

// etcd needs more than half of its members (etcd.io, "Frequently Asked Questions", failure tolerance).
test.each([
  [3, 1, true],
  [3, 2, false],
  [4, 1, true],
  [4, 2, false],
  [5, 2, true],
])('of %d machines of the control plane, of which %d are lost, advises to delete one: %s', (count, lost, isAdvised) => {
  const nodes = Array.from({ length: count }, (_each, index) => {
    const notReady = index < lost ? { notReady: { minutesAgo: 120 } } : {};
    return inspectedNode(`m${index}`, { role: 'master', current: NEW, desired: NEW, ...notReady });
  });
  const { repairs } = check(nodes, [inspectedPool('master', { spec: NEW, status: NEW })], { configs: [NEW] });
  const commands = repairs.map(({ command }) => command?.words.slice(0, 3).join(' '));
  expect(commands.includes('oc delete node')).toBe(isAdvised);
});

const NEAREST_NAMES = parse(
  readFileSync(new URL('nearest-names.yaml', import.meta.url), 'utf8'),
) as readonly (readonly [string, string, readonly string[], string | null])[];

test.each(NEAREST_NAMES)('for a name that has %s, finds the config that was meant, if it is clear', (...row) => {
  const [, name, existing, meant] = row;
  const find = createNearestFinder([...existing, 'rendered-worker-9e786f4a442cb50f3dfeec92abb1675f']);
  expect([find(name) ?? null, find('-'.repeat(256 * 1024))]).toEqual([meant, undefined]);
});

const UNPAUSE_PATCH = {
  metadata: {
    annotations: {
      'machineconfig-guard.io/paused-for-restore': null,
      'machineconfig-guard.io/paused-for-machines': null,
    },
  },
  spec: { paused: false },
};
const UNPAUSE = `oc patch machineconfigpool worker --type=merge -p '${JSON.stringify(UNPAUSE_PATCH)}'`;
const UNMARK =
  'oc annotate machineconfigpool worker machineconfig-guard.io/paused-for-restore- ' +
  'machineconfig-guard.io/paused-for-machines-';
const RESTORE = `machineconfig-guard restore ${MISSING}`;
const HEALTHY = inspectedNode('n', { current: WORKER, desired: WORKER });
const STARTED = inspectedNode('n', { current: MISSING, desired: MISSING });
const FINE = inspectedPool('worker', { spec: WORKER, status: WORKER });
const PAUSED = { ...inspectedPool('worker', { spec: WORKER }), paused: true, pausedFor: MISSING };

function plan(...args: Parameters<typeof check>): string[] {
  const formatter = new CommandFormatter('machineconfig-guard', {});
  const { repairs } = check(...args);
  return repairs.map(({ alternative, command }) => `${alternative ? '# ' : ''}${command && formatter.toLine(command)}`);
}

test.each([
  ['has paused a pool that is fine', HEALTHY, { ...FINE, paused: true, pausedFor: MISSING }, [], [UNPAUSE]],
  ['has left its mark on a pool that a person has unpaused', HEALTHY, { ...FINE, pausedFor: MISSING }, [], [UNMARK]],
  ['has created its config', STARTED, PAUSED, [MISSING], [`${RESTORE} --confirm`, `# ${UNPAUSE}`]],
  ['has only paused its pool', STARTED, PAUSED, [], [`${RESTORE} --from node/n`, `# ${UNPAUSE}`]],
])('ends a restore that was killed and %s', (_state, node, pool, created, expected) => {
  const repairs = plan([node], [pool], { configs: [WORKER, ...created] });
  expect(repairs).toEqual(expect.arrayContaining(expected));
  expect(repairs[0]).toBe(expected[0]);
});

test('has no command for a name that no object can have', () => {
  const hostile = 'rendered-worker\u001B]52;c;cm0gLXJmIH4=\u0007-25a1be6c1264c64551ae911d23717173';
  const pool = { ...FINE, paused: true, pausedFor: hostile };
  const node = inspectedNode('n', { current: hostile, desired: hostile });
  expect(plan([node], [pool]).join('')).not.toMatch(/52;c|restore r/);
});

const config = fc.option(fc.constantFrom(...NAMES), { nil: undefined });
const anyNode = fc.record({
  current: config,
  desired: config,
  role: fc.constantFrom('worker', 'master', 'infra-a.b'),
  state: fc.constantFrom('Done', 'Degraded'),
});
const anyPool = fc.record({
  spec: config,
  status: config,
  terminating: fc.boolean(),
  ageMinutes: fc.constantFrom(10, 60),
  paused: fc.boolean(),
});

const OTHER_CAUSES = new Set<string>(['DesiredOutdated', 'NotInPool', 'PoolPaused', 'PoolsMissing']);

test('agrees with a naive model for any cluster', () => {
  checkProperty(
    fc.property(
      fc.array(anyNode, { minLength: 1, maxLength: 5 }),
      fc.record({ worker: anyPool, master: anyPool, 'infra-a.b': anyPool }, { requiredKeys: [] }),
      fc.subarray([...NAMES]),
      (nodeOptions, poolOptions, existing) => {
        const live = Object.entries(poolOptions).filter(([, { terminating }]) => !terminating);
        const named = [
          ...nodeOptions.flatMap(({ current, desired }) => [current, desired]),
          // The status of a young custom pool may be empty.
          ...live.flatMap(([pool, { spec, status, ageMinutes }]) =>
            pool === 'infra-a.b' && status === undefined && ageMinutes < 30 ? [spec] : [spec, status],
          ),
        ];
        const isMissing = (name: string | undefined) => name !== undefined && !existing.includes(name as never);
        const isRendered = (name: string) => {
          const ofPool = parsePoolName(toConfigName(name));
          const isFirst = live.some(([pool, { spec }]) => pool === ofPool && spec === undefined);
          return live.some(([, { spec }]) => spec === name) || (ofPool !== undefined && (live.length === 0 || isFirst));
        };
        const isDegraded = nodeOptions.some(({ state }) => state === 'Degraded');

        const result = check(
          nodeOptions.map((options, index) => inspectedNode(`n${index}`, options)),
          Object.entries(poolOptions).map(([name, options]) => ({
            ...inspectedPool(name, options),
            paused: options.paused,
          })),
          { configs: existing },
        );

        // The states above have the causes that do not follow from names alone.
        const aboutNames = result.problems.filter(({ code }) => !OTHER_CAUSES.has(code));
        const isComplete = named.every((name) => name !== undefined && !isMissing(name));
        if (isDegraded) expect(result.ok).toBe(false);
        else expect(aboutNames.length === 0).toBe(isComplete);
        // The operator replaces the desired config of a node whose update has failed, and the status of a pool once all
        // its machines are updated.
        const isTakenBack = ({ current, desired, role, state }: (typeof nodeOptions)[number]) => {
          const { spec, paused = true, terminating } = poolOptions[role] ?? {};
          const isRetargeted = spec !== undefined && spec !== desired && !paused && !terminating;
          return isRetargeted && state === 'Degraded' && current !== desired;
        };
        // It also creates a built-in pool again.
        const isInLostPool = ({ current, desired, role, state }: (typeof nodeOptions)[number]) => {
          const pool = parsePoolName(toConfigName(current ?? desired ?? ''));
          const isLost = pool === 'worker' || pool === 'master' ? !live.some(([name]) => name === pool) : false;
          return isLost && live.length > 0 && poolOptions[role] === undefined && state === 'Done';
        };
        const needed = [
          ...nodeOptions.flatMap((node) =>
            isInLostPool(node) ? [] : [node.current, isTakenBack(node) ? undefined : node.desired],
          ),
          ...live.map(([, { spec }]) => spec),
        ];
        const isUnrecoverable = needed.some((name) => name !== undefined && isMissing(name) && !isRendered(name));
        if (isUnrecoverable) expect(result.recoverable).toBe(false);
        for (const { suggestion } of result.problems) if (suggestion !== null) expect(existing).toContain(suggestion);
      },
    ),
    500,
  );
});

test.each([
  [
    'w9',
    'for hours',
    120,
    'kube-apiserver-client-kubelet',
    ['only if w9 is one of your machines: approve its certificate request'],
  ],
  ['w9', 'since just now', 1, 'kube-apiserver-client-kubelet', []],
  ['w9', 'since just now', 1, 'kubelet-serving', []],
  // The kubelet of a node asks for it right after the approval of its first request.
  [
    'n',
    'since just now',
    1,
    'kubelet-serving',
    ['approve pending certificate requests of nodes; check the requestors first'],
  ],
])('says how to approve a request of %s that has waited %s, although everything is fine', (...args) => {
  const [node, _age, minutes, signer, texts] = args;
  const createdAt = new Date(NOW.getTime() - minutes * 60_000).toISOString();
  const request = { name: 'csr-a', node, signer: `kubernetes.io/${signer}`, createdAt };
  const { ok, repairs } = check([HEALTHY], [FINE], { requests: { requests: [request] } });
  expect(ok).toBe(true);
  expect(repairs.map(({ text }) => text)).toEqual(texts);
});

test('combines the requests of a large cluster in one command', () => {
  const requests = Array.from({ length: 250 }, (_, index) => `csr-${index}`);
  const [repair, ...others] = planRepairs(requests.map(approveRequest));
  expect(others).toEqual([]);
  expect(repair?.command?.words).toEqual(['oc', 'adm', 'certificate', 'approve', ...requests]);
});

test.each([
  [86_399_999, true],
  [86_400_000, false],
])('a cluster whose oldest object is %i ms old can be in its install: %s', (ms, expected) => {
  const [young, old] = [0, ms].map((age) => ({ ...FINE, createdAt: new Date(NOW.getTime() - age) }));
  const undated = { ...FINE, createdAt: undefined };
  const pools = [young, old, undated].filter((pool) => pool !== undefined);
  expect(canHaveBootstrapHost({ nodes: [], pools }, NOW)).toBe(expected);
});

test.each([
  ['a'.repeat(300), 'a'.repeat(300)],
  [`${'a'.repeat(101)}${'b'.repeat(200)}`, `${'a'.repeat(100)} ... ${'b'.repeat(200)}`],
  [`${'a'.repeat(3_996)}b${'c'.repeat(4)}`, `${'a'.repeat(100)} ... ${'a'.repeat(196)}b...`],
])('quotes the start and the end of a long message', (text, quotation) => {
  expect(quote(text)).toBe(quotation);
});

test('prints no command that would label a node without a label', () => {
  const annotations = { current: `rendered-infra-${'0'.repeat(32)}`, desired: `rendered-infra-${'0'.repeat(32)}` };
  const infra = inspectedPool('infra', { spec: WORKER, status: WORKER });
  const unselectable = { ...infra, nodeSelector: { matchLabels: { 'a b': 'c d' } } };
  for (const pool of [infra, unselectable]) {
    const labels = plan([inspectedNode('n', { ...annotations, role: 'none' })], [FINE, pool]).filter((line) =>
      line.includes('oc label'),
    );
    expect(labels).toEqual(pool === infra ? [expect.stringMatching(/ node n --overwrite \S+infra=$/)] : []);
  }
});
