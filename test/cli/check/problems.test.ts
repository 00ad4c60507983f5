import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parsePoolName, toConfigName } from '../../../src/decision/references.ts';
import { NAMES } from '../../support/arbitrary.ts';
import { checkProperty } from '../../support/check-property.ts';
import { NEW, OLD } from '../inspected-cluster.ts';
import { check, inspectedNode, inspectedPool } from './checked-cluster.ts';

const INFRA = 'rendered-infra-d4983d88dabdc54ecf977ee120fd3796';
const NODE = inspectedNode('w0', { current: NEW, desired: NEW });
const POOL = inspectedPool('worker', { spec: NEW, status: NEW });
const UNMANAGED = 'the Machine Config Operator manages no node';

test.each([
  [0, 1, undefined, [], 'the cluster has no nodes'],
  [0, 1, 'role/wroker', [], 'no node has label role/wroker. Roles here: master, worker'],
  [0, 1, undefined, ['windows-0'], `${UNMANAGED} in the cluster`],
  [0, 1, 'os=windows', ['windows-0'], `${UNMANAGED} with label os=windows`],
  [1, 2, 'role/worker', ['windows-0'], 'only 1 node with label role/worker, 2 are required'],
  [2, 3, undefined, [], 'only 2 nodes in the cluster, 3 are required'],
])(
  'with %i of %i nodes, the selector %j and without %j, says: %s',
  (count, minNodes, selector, skippedNodes, message) => {
    const facts = { configs: [NEW, OLD], skippedNodes, roles: ['master', 'worker'], scope: { selector, minNodes } };
    const result = check([NODE, NODE].slice(0, count), [POOL], facts);
    expect(result).toMatchObject({ ok: false, recoverable: true, problems: [{ code: 'TooFewNodes', message }] });
  },
);

test('assigns a node to master, else a custom pool, else worker, else the pool of its config', () => {
  const pools = ['worker', 'infra', 'master'].map((name) => inspectedPool(name, { spec: NEW, status: NEW }));
  const node = inspectedNode('n', { current: OLD, desired: INFRA });
  const nodes = [['worker', 'infra', 'master'], ['worker', 'infra'], ['worker'], []].map((roles) => ({
    ...node,
    labels: Object.fromEntries(roles.map((role) => [`node-role.kubernetes.io/${role}`, ''])),
  }));
  const assigned = check(nodes, pools, { configs: [OLD, NEW, INFRA] }).nodes.map(({ pool }) => pool);
  expect(assigned).toEqual(['master', 'infra', 'worker', 'infra']);
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

        const result = check(
          nodeOptions.map((options, index) => inspectedNode(`n${index}`, options)),
          Object.entries(poolOptions).map(([name, options]) => ({
            ...inspectedPool(name, options),
            paused: options.paused,
          })),
          { configs: existing },
        );

        expect(result.ok).toBe(named.every((name) => name !== undefined && !isMissing(name)));
        const isUnrecoverable = named.some((name) => name !== undefined && isMissing(name) && !isRendered(name));
        expect(result.recoverable).toBe(!result.ok && !isUnrecoverable);
        for (const { suggestion } of result.problems) if (suggestion !== null) expect(existing).toContain(suggestion);
      },
    ),
    500,
  );
});
