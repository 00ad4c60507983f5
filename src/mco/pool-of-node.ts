import type { PoolReferrer, Referrer } from './referrer.ts';

export type Labels = Readonly<Record<string, unknown>>;

/** The operator does not manage Windows nodes. */
const OS_LABEL = 'kubernetes.io/os';

/** Without a pool, the operator moves the node to no config. It does not choose between several custom pools. */
export interface PoolOfNode<Pool> {
  readonly pool: Pool | undefined;
  readonly conflicting: readonly Pool[];
  /** All that select the node: a worker of a custom pool runs the config of `worker` before it joins that. */
  readonly selecting: readonly Pool[];
}

/**
 * Chooses as the operator does: `master`, then the only custom pool, then `worker` (machine-config-operator,
 * pkg/helpers/helpers.go, GetPoolsForNode). It also counts pools that are being deleted.
 */
export function findPoolOfNode<Pool extends Pick<PoolReferrer, 'name' | 'nodeSelector'>>(
  labels: Labels,
  pools: readonly Pool[],
): PoolOfNode<Pool> {
  const matching = pools.filter(({ nodeSelector }) => matchesNodeSelector(nodeSelector, labels));
  const selecting = isWindows(labels) ? [] : matching;
  const custom = selecting.filter(({ name }) => name !== 'master' && name !== 'worker');
  if (custom.length > 1) return { pool: undefined, conflicting: custom, selecting };
  const pool = selecting.find(({ name }) => name === 'master') ?? custom[0] ?? selecting[0];
  return { pool, conflicting: [], selecting };
}

/** Whether the labels are those of a Windows node. */
export function isWindows(labels: Labels | null | undefined): boolean {
  return labels?.[OS_LABEL] === 'windows';
}

/**
 * Returns false for a node that never gets a config: a Windows node, or one that no pool selects
 * (machine-config-operator, pkg/helpers/helpers.go). A node with an annotation of the operator always counts. Without
 * pools, as early in an installation or if they are unreadable, every Linux node counts.
 */
export function isManagedByOperator(referrer: Referrer, pools: readonly PoolReferrer[]): boolean {
  if (referrer.kind !== 'Node' || referrer.references.length > 0) return true;
  const { state } = referrer;
  if (state.type !== 'unreported') return state.type === 'configured';
  const { labels } = state;
  if (labels === undefined || pools.length === 0) return true;
  return pools.some(({ nodeSelector }) => matchesNodeSelector(nodeSelector, labels));
}

/** An absent, empty or malformed selector matches no node, as in the operator and unlike in Kubernetes. */
export function matchesNodeSelector(selector: unknown, labels: Labels): boolean {
  if (typeof selector !== 'object' || selector === null) return false;
  const { matchLabels, matchExpressions } = selector as { matchLabels?: unknown; matchExpressions?: unknown };
  const wantedLabels = Object.entries(matchLabels ?? {}) as [string, unknown][];
  const expressions = Array.isArray(matchExpressions) ? (matchExpressions as readonly unknown[]) : [];
  if (wantedLabels.length + expressions.length === 0) return false;
  return (
    wantedLabels.every(([key, value]) => labels[key] === value) &&
    expressions.every((expression) => matchesExpression(expression, labels))
  );
}

function matchesExpression(expression: unknown, labels: Labels): boolean {
  const { key, operator, values } = (expression ?? {}) as { key?: unknown; operator?: unknown; values?: unknown };
  if (typeof key !== 'string') return false;
  const hasLabel = Object.hasOwn(labels, key);
  const hasValue = hasLabel && Array.isArray(values) && values.includes(labels[key]);
  switch (operator) {
    case 'In':
      return hasValue;
    case 'NotIn':
      // As in Kubernetes, this also matches an object without the label.
      return !hasValue;
    case 'Exists':
      return hasLabel;
    case 'DoesNotExist':
      return !hasLabel;
    default:
      return false;
  }
}
