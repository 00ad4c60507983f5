import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { findPoolOfNode, isManagedByOperator, matchesNodeSelector } from '../../src/mco/pool-of-node.ts';
import { parseNodeReferrer, parsePoolReferrer } from '../../src/mco/parse-referrer.ts';

interface NodeCase {
  readonly labels?: Readonly<Record<string, string>> | null;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly pools?: readonly [];
}

const CASES = parse(readFileSync(new URL('pool-of-node.yaml', import.meta.url), 'utf8')) as {
  readonly pools: Readonly<Record<string, readonly (string | null)[]>>;
} & Readonly<Record<'managed' | 'unmanaged', readonly NodeCase[]> & Record<'matching' | 'others', readonly unknown[]>>;

const toLabels = (roles: string) =>
  Object.fromEntries(roles.split(' ').map((role) => [`node-role.kubernetes.io/${role}`, '']));
const POOLS = ['infra', 'master', 'rt', 'worker'].map((name) => {
  return { name, nodeSelector: { matchLabels: toLabels(name) } };
});

test.each(Object.entries(CASES.pools))(
  'a node with the roles "%s" is in the pool, or in conflicting ones: %j',
  (roles, names) => {
    const { pool, conflicting } = findPoolOfNode(toLabels(roles), POOLS);
    expect([pool, ...conflicting].map((found) => found?.name ?? null)).toEqual(names);
    const windows = findPoolOfNode({ ...toLabels(roles), 'kubernetes.io/os': 'windows' }, POOLS);
    expect(windows).toEqual({ pool: undefined, conflicting: [], selecting: [] });
  },
);

const selector = { matchLabels: { role: 'worker' } };
const POOL = parsePoolReferrer({ metadata: { name: 'worker' }, spec: { nodeSelector: selector } });

test.each(
  (['managed', 'unmanaged'] as const).flatMap((expected) => CASES[expected].map((node) => [expected, node] as const)),
)('the operator leaves %s a node with %j', (expected, { labels = {}, annotations = {}, pools = [POOL] }) => {
  const all = Object.entries(annotations).map(([key, value]) => [`machineconfiguration.openshift.io/${key}`, value]);
  const node = parseNodeReferrer({
    metadata: { name: 'n', labels, annotations: Object.fromEntries(all) as Readonly<Record<string, unknown>> },
  });
  expect(isManagedByOperator(node, pools)).toBe(expected === 'managed');
});

test('a selector matches by its labels and expressions, and if it is malformed nothing', () => {
  const matches = (each: unknown) => matchesNodeSelector(each, { role: 'worker', zone: 'a' });
  expect([...CASES.matching, ...CASES.others].filter(matches)).toEqual(CASES.matching);
});
