import type { PoolReferrer } from '../decision/references.ts';
import { type Labels, matchesNodeSelector } from './node-selector.ts';

/** The operator does not manage Windows nodes. */
const OS_LABEL = 'kubernetes.io/os';

/** Without a pool, the operator moves the node to no config. It does not choose between several custom pools. */
export interface PoolOfNode<Pool> {
  readonly pool: Pool | undefined;
  readonly conflicting: readonly Pool[];
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
  const selecting = labels[OS_LABEL] === 'windows' ? [] : matching;
  const custom = selecting.filter(({ name }) => name !== 'master' && name !== 'worker');
  if (custom.length > 1) return { pool: undefined, conflicting: custom };
  const pool = selecting.find(({ name }) => name === 'master') ?? custom[0] ?? selecting[0];
  return { pool, conflicting: [] };
}
