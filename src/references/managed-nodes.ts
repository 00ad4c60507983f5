import type { PoolReferrer, Referrer } from '../decision/references.ts';
import { matchesNodeSelector } from './node-selector.ts';

/**
 * Returns false for a node that never gets a config: a Windows node, or one that no pool selects
 * (machine-config-operator, pkg/helpers/helpers.go). A node with an annotation of the operator always counts. If there
 * are no pools, as early in an installation, every Linux node counts.
 *
 * @param pools all pools, or none if they are unreadable
 */
export function isManagedByOperator(referrer: Referrer, pools: readonly PoolReferrer[]): boolean {
  if (referrer.kind !== 'Node' || referrer.references.length > 0) return true;
  const { isConfigUnreported, labels } = referrer;
  // See parseNodeReferrer.
  if (isConfigUnreported !== true) return false;
  if (labels === undefined || pools.length === 0) return true;
  return pools.some(({ nodeSelector }) => matchesNodeSelector(nodeSelector, labels));
}
