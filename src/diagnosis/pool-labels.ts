import type { InspectedPool } from './cluster-snapshot.ts';
import { findPoolOfNode, type Labels } from '../mco/pool-of-node.ts';

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

interface LabelChange {
  readonly key: string;
  /** Undefined if the label goes. */
  readonly value?: string;
}

/** A key of a label (apimachinery, pkg/util/validation). Anything else could change a command. */
const LABEL_KEY = /^[A-Za-z0-9][-A-Za-z0-9_./]*$/;
const LABEL_VALUE = /^(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?$/;

/**
 * The arguments of `oc label node NAME` that move the node into a pool.
 * @param pools all pools, which can select the node, too
 * @param left pools whose labels the node loses, unless the wanted pool or `worker` needs them
 * @returns an empty list if nothing must change, or if no such labels move the node into the pool
 */
export function listLabelsForPool(
  wanted: InspectedPool,
  labels: Labels,
  pools: readonly InspectedPool[],
  left: readonly InspectedPool[] = [],
): readonly string[] {
  const changes = parseSelector(wanted).flatMap((requirement) => changeLabel(requirement, labels) ?? []);
  const keeping = pools.filter((pool) => pool === wanted || pool.referrer.name === 'worker');
  const kept = new Set(keeping.flatMap(listNeededKeys));
  const removedKeys = left.flatMap(listNeededKeys).filter((key) => Object.hasOwn(labels, key) && !kept.has(key));
  const all: readonly LabelChange[] = [...changes, ...[...new Set(removedKeys)].map((key) => ({ key }))];

  const after = new Map(Object.entries(labels));
  for (const { key, value } of all) {
    if (value === undefined) after.delete(key);
    else after.set(key, value);
  }
  const isMoved = findPoolOfNode(Object.fromEntries(after), pools).pool === wanted;
  const isSafe = all.every(({ key, value = '' }) => LABEL_KEY.test(key) && LABEL_VALUE.test(value));
  return isMoved && isSafe ? all.map(({ key, value }) => (value === undefined ? `${key}-` : `${key}=${value}`)) : [];
}

/** The keys without which the pool does not select a node. */
function listNeededKeys(pool: InspectedPool): readonly string[] {
  return parseSelector(pool).flatMap(({ key, operator }) => (['In', 'Exists'].includes(operator) ? [key] : []));
}

/** @returns undefined if the label meets the requirement already. Without a value, the label must go. */
function changeLabel({ key, operator, values }: Requirement, labels: Labels): LabelChange | undefined {
  const value = Object.hasOwn(labels, key) ? String(labels[key]) : undefined;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value) ? undefined : { key, value: values[0] ?? '' };
    case 'Exists':
      return value === undefined ? { key, value: '' } : undefined;
    case 'NotIn':
      return value !== undefined && values.includes(value) ? { key } : undefined;
    default:
      return value === undefined ? undefined : { key };
  }
}

function parseSelector({ referrer }: InspectedPool): readonly Requirement[] {
  const { matchLabels, matchExpressions } = (referrer.nodeSelector ?? {}) as {
    matchLabels?: object;
    matchExpressions?: unknown;
  };
  const expressions = Array.isArray(matchExpressions) ? (matchExpressions as readonly unknown[]) : [];
  const equalities = Object.entries(matchLabels ?? {}).map(([key, value]) => {
    return { key, operator: 'In', values: [String(value)] };
  });
  const others = expressions.map((expression) => {
    const { key, operator, values } = (expression ?? {}) as Readonly<Record<string, unknown>>;
    const texts = Array.isArray(values) ? values.map(String) : [];
    return { key: String(key), operator: String(operator), values: texts };
  });
  return [...equalities, ...others];
}
