import { expect, test } from 'vitest';
import { findInvalidRequirement, listLabelsForPool } from '../../src/diagnosis/pool-labels.ts';
import type { InspectedPool } from '../../src/diagnosis/cluster-snapshot.ts';
import { inspectedPool, WORKER } from './checked-cluster.ts';

const pool = (name: string, nodeSelector: object): InspectedPool => {
  return { ...inspectedPool(name, { spec: WORKER, status: WORKER }), nodeSelector };
};
const select = (matchLabels: object) => ({ matchLabels });
const WORKERS = pool('worker', select({ worker: '' }));

interface Row {
  readonly what: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly wanted: InspectedPool;
  readonly left: readonly InspectedPool[];
  readonly expected: readonly string[];
}

const ROWS: readonly Row[] = [
  {
    what: 'keeps the label that both pools and worker need',
    labels: { worker: '', zone: '', tier: '' },
    wanted: pool('a', select({ worker: '', zone: '' })),
    left: [pool('b', select({ worker: '', tier: '' }))],
    expected: ['tier-'],
  },
  {
    what: 'changes a label of which the pools need different values',
    labels: { worker: '', tier: 'a' },
    wanted: pool('b', select({ tier: 'b' })),
    left: [pool('a', select({ tier: 'a' }))],
    expected: ['tier=b'],
  },
  {
    what: 'changes nothing if the other pool selects every node of the wanted one',
    labels: { tier: 'a' },
    wanted: pool('a', select({ tier: 'a' })),
    left: [pool('b', { matchExpressions: [{ key: 'tier', operator: 'Exists' }] })],
    expected: [],
  },
  {
    what: 'changes nothing if one label cannot meet all expressions',
    labels: { cnf: 'disabled' },
    wanted: pool('cnf', {
      matchExpressions: [
        { key: 'cnf', operator: 'Exists' },
        { key: 'cnf', operator: 'NotIn', values: ['disabled'] },
      ],
    }),
    left: [],
    expected: [],
  },
  {
    what: 'adds the label of a pool',
    labels: { worker: '' },
    wanted: pool('infra', select({ infra: '' })),
    left: [WORKERS],
    expected: ['infra='],
  },
];

test.each(ROWS)('$what', ({ labels, wanted, left, expected }) => {
  const others = left.filter(({ name }) => name !== 'worker');
  expect(listLabelsForPool(wanted, labels, [WORKERS, wanted, ...others], left)).toEqual(expected);
});

const expression = (key: string, operator: string, ...values: readonly string[]) => ({
  matchExpressions: [{ key, operator, values }],
});

/** The names and values at the limits of apimachinery (pkg/util/validation, IsQualifiedName and IsValidLabelValue). */
const NAMES = ['a', '0', 'A-z_0.9', 'a'.repeat(63)];
const INVALID_NAMES = ['-a', 'a-', '_a', 'a_', '.a', 'a.', 'é', 'a b', 'a$', 'a'.repeat(64)];
const VALID_VALUES = ['', ...NAMES];
const INVALID_VALUES = ['a/a', ...INVALID_NAMES];
const VALID_KEYS = [...NAMES, 'a/a', 'a-0.z/a', `${'a'.repeat(253)}/a`];
const INVALID_KEYS = ['', '/a', 'a/', 'a/a/a', ...INVALID_NAMES];
const INVALID_PREFIXES = ['a..b', 'a.-b', '-a', 'a-', '.a', 'a.', 'A', 'a_a', 'é', 'a'.repeat(254)];
INVALID_KEYS.push(...INVALID_PREFIXES.map((prefix) => `${prefix}/a`), ...INVALID_NAMES.map((name) => `a/${name}`));

// As LabelSelectorAsSelector of apimachinery judges them.
test.each([
  [undefined, undefined],
  [{}, '{}'],
  [{ matchLabels: { 'example.com/a': '' } }, undefined],
  [{ matchLabels: { a: 'b c' } }, 'a In (b c)'],
  [expression('a', 'In', 'b', 'c'), undefined],
  [expression('a', 'NotIn'), 'a NotIn ()'],
  [expression('a', 'DoesNotExist'), undefined],
  [expression('a', 'Exists', 'b'), 'a Exists (b)'],
  [expression('a', 'in', 'b'), 'a in (b)'],
  ...VALID_KEYS.map((key): [object, undefined] => [expression(key, 'Exists'), undefined]),
  ...INVALID_KEYS.map((key): [object, string] => [expression(key, 'Exists'), `${key} Exists ()`]),
  ...VALID_VALUES.map((value): [object, undefined] => [expression('a', 'In', value), undefined]),
  ...INVALID_VALUES.map((value): [object, string] => [expression('a', 'In', value), `a In (${value})`]),
])('finds in the selector %j the requirement %s that the operator rejects', (selector, requirement) => {
  expect(findInvalidRequirement(selector)).toBe(requirement);
});
