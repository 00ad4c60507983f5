import type { InspectedPool } from './cluster-snapshot.ts';
import type { Labels } from '../mco/pool-of-node.ts';

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

/** A key of a label (apimachinery, pkg/util/validation). Anything else could change a command. */
const LABEL_KEY = /^[A-Za-z0-9][-A-Za-z0-9_./]*$/;
const LABEL_VALUE = /^(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?$/;

/**
 * The arguments of `oc label node NAME` with which a pool selects the node.
 * @returns an empty list if the pool selects it already, or if no labels can meet its selector
 */
export function listLabelsForPool({ referrer }: InspectedPool, labels: Labels): readonly string[] {
  const requirements = parseRequirements(referrer.nodeSelector);
  const changes = requirements.flatMap((requirement) => changeLabel(requirement, labels) ?? []);
  return changes.every(({ key, value = '' }) => LABEL_KEY.test(key) && LABEL_VALUE.test(value))
    ? changes.map(({ key, value }) => (value === undefined ? `${key}-` : `${key}=${value}`))
    : [];
}

/** The arguments of `oc label node NAME` that remove the labels by which a pool selects the node. */
export function listRemovalsFromPool({ referrer }: InspectedPool, labels: Labels): readonly string[] {
  return parseRequirements(referrer.nodeSelector)
    .filter(({ key, operator }) => ['In', 'Exists'].includes(operator) && LABEL_KEY.test(key) && key in labels)
    .map(({ key }) => `${key}-`);
}

/** @returns undefined if the label meets the requirement already. Without a value, the label must go. */
function changeLabel({ key, operator, values }: Requirement, labels: Labels) {
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

function parseRequirements(selector: unknown): readonly Requirement[] {
  const { matchLabels, matchExpressions } = (selector ?? {}) as { matchLabels?: object; matchExpressions?: unknown };
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
