import type { PoolReferrer } from '../decision/references.ts';
import { type Labels, matchesNodeSelector } from './node-selector.ts';

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
export function findPoolOfNode<Pool extends { readonly referrer: Pick<PoolReferrer, 'name' | 'nodeSelector'> }>(
  labels: Labels,
  pools: readonly Pool[],
): PoolOfNode<Pool> {
  const matching = pools.filter(({ referrer }) => matchesNodeSelector(referrer.nodeSelector, labels));
  const selecting = labels[OS_LABEL] === 'windows' ? [] : matching;
  const custom = selecting.filter(({ referrer: { name } }) => name !== 'master' && name !== 'worker');
  if (custom.length > 1) return { pool: undefined, conflicting: custom, selecting };
  const pool = selecting.find(({ referrer }) => referrer.name === 'master') ?? custom[0] ?? selecting[0];
  return { pool, conflicting: [], selecting };
}
