/** Labels of an object, as they come from the API. */
export type Labels = Readonly<Record<string, unknown>>;

/**
 * Does a pool's `spec.nodeSelector` choose an object with these labels? An absent or empty selector chooses nothing: so the
 * operator reads it (machine-config-operator, pkg/helpers/helpers.go), other than Kubernetes itself. What cannot be
 * understood chooses nothing either.
 */
export function matchesNodeSelector(selector: unknown, labels: Labels): boolean {
  const { matchLabels, matchExpressions } = (selector ?? {}) as { matchLabels?: unknown; matchExpressions?: unknown };
  const wanted = Object.entries((matchLabels ?? {}) as Record<string, unknown>);
  const expressions = Array.isArray(matchExpressions) ? (matchExpressions as readonly unknown[]) : [];
  if (wanted.length + expressions.length === 0) return false;
  return (
    wanted.every(([key, value]) => labels[key] === value) &&
    expressions.every((expression) => expressionHolds(expression, labels))
  );
}

function expressionHolds(expression: unknown, labels: Labels): boolean {
  const { key, operator, values } = (expression ?? {}) as { key?: unknown; operator?: unknown; values?: unknown };
  if (typeof key !== 'string') return false;
  const has = Object.hasOwn(labels, key);
  const among = has && Array.isArray(values) && values.includes(labels[key]);
  switch (operator) {
    case 'In':
      return among;
    case 'NotIn':
      // As in Kubernetes: a label that is absent is not among the values.
      return !among;
    case 'Exists':
      return has;
    case 'DoesNotExist':
      return !has;
    default:
      return false;
  }
}
