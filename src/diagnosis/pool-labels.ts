import type { InspectedPool } from './cluster-snapshot.ts';
import { isObjectName } from '../kube/api-object.ts';
import { findPoolOfNode, type Labels, matchesNodeSelector } from '../mco/pool-of-node.ts';

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

/** Of a label (apimachinery, pkg/util/validation). Anything else could change a command. */
const LABEL_KEY = /^(?:(.*)\/)?[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?)?$/;

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
  const changes = parseSelector(wanted.nodeSelector).flatMap((requirement) => changeLabel(requirement, labels) ?? []);
  const keeping = pools.filter((pool) => pool === wanted || pool.name === 'worker');
  const kept = new Set(keeping.flatMap(listNeededKeys));
  const removedKeys = left.flatMap(listNeededKeys).filter((key) => Object.hasOwn(labels, key) && !kept.has(key));
  const all: readonly LabelChange[] = [...changes, ...[...new Set(removedKeys)].map((key) => ({ key }))];

  const after = new Map(Object.entries(labels));
  for (const { key, value } of all) {
    if (value === undefined) after.delete(key);
    else after.set(key, value);
  }
  const isMoved = findPoolOfNode(Object.fromEntries(after), pools).pool === wanted;
  const isSafe = all.every(({ key, value = '' }) => isLabelKey(key) && LABEL_VALUE.test(value));
  return isMoved && isSafe ? all.map(({ key, value }) => (value === undefined ? `${key}-` : `${key}=${value}`)) : [];
}

/** The keys without which the pool does not select a node. */
function listNeededKeys(pool: InspectedPool): readonly string[] {
  const requirements = parseSelector(pool.nodeSelector);
  return requirements.flatMap(({ key, operator }) => (['In', 'Exists'].includes(operator) ? [key] : []));
}

/**
 * The requirement of a selector that the operator rejects, as a text, or `{}` for an empty selector (apimachinery,
 * LabelSelectorAsSelector). Undefined if it accepts the selector, or if there is none, which selects nothing.
 */
export function findInvalidRequirement(selector: unknown): string | undefined {
  if (typeof selector !== 'object' || selector === null) return undefined;
  const requirements = parseSelector(selector);
  if (requirements.length === 0) return '{}';
  const invalid = requirements.find((requirement) => !isValid(requirement));
  return invalid && `${invalid.key} ${invalid.operator} (${invalid.values.join(', ')})`;
}

function isValid({ key, operator, values }: Requirement): boolean {
  const needsValues = operator === 'In' || operator === 'NotIn';
  if (!needsValues && operator !== 'Exists' && operator !== 'DoesNotExist') return false;
  return values.length > 0 === needsValues && isLabelKey(key) && values.every((value) => LABEL_VALUE.test(value));
}

function isLabelKey(key: string): boolean {
  const [found, prefix = 'a'] = LABEL_KEY.exec(key) ?? [];
  return found !== undefined && isObjectName(prefix);
}

/** @returns undefined if the label meets the requirement already. Without a value, the label must go. */
function changeLabel(requirement: Requirement, labels: Labels): LabelChange | undefined {
  if (matchesNodeSelector({ matchExpressions: [requirement] }, labels)) return undefined;
  const { key, operator, values } = requirement;
  return operator === 'In' || operator === 'Exists' ? { key, value: values[0] ?? '' } : { key };
}

function parseSelector(selector: unknown): readonly Requirement[] {
  const { matchLabels, matchExpressions } = (selector ?? {}) as {
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
