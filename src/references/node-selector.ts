export type Labels = Readonly<Record<string, unknown>>;

/**
 * An absent, empty or malformed `spec.nodeSelector` of a pool matches no node, as in the operator
 * (machine-config-operator, pkg/helpers/helpers.go) and unlike in Kubernetes.
 */
export function matchesNodeSelector(selector: unknown, labels: Labels): boolean {
  const { matchLabels, matchExpressions } = (selector ?? {}) as {
    matchLabels?: unknown;
    matchExpressions?: unknown;
  };
  const wantedLabels = Object.entries((matchLabels ?? {}) as Record<string, unknown>);
  const expressions = Array.isArray(matchExpressions) ? (matchExpressions as readonly unknown[]) : [];
  if (wantedLabels.length + expressions.length === 0) return false;
  return (
    wantedLabels.every(([key, value]) => labels[key] === value) &&
    expressions.every((expression) => matchesExpression(expression, labels))
  );
}

function matchesExpression(expression: unknown, labels: Labels): boolean {
  const { key, operator, values } = (expression ?? {}) as {
    key?: unknown;
    operator?: unknown;
    values?: unknown;
  };
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
