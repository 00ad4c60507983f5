import type { ConfigName, NodeReferrer, PoolReferrer } from '../decision/references.ts';
import { type Labels, matchesNodeSelector } from '../references/node-pool.ts';
import { findPoolNameByConfig } from '../status/dangling-references.ts';

export interface InspectedNode {
  readonly referrer: NodeReferrer;
  readonly labels: Labels;
  /** As the machine-config-daemon reports it, such as `Done`. Empty before. */
  readonly state: string;
  readonly reason: string;
}

export interface InspectedPool {
  readonly referrer: PoolReferrer;
  readonly paused: boolean;
  /** The config for which `restore` paused the pool. Absent if a person paused it. */
  readonly pausedFor?: string;
  readonly machineCount: number;
  readonly updatedMachineCount: number;
  /** The source MachineConfigs of the config in its spec. */
  readonly sources: readonly string[];
}

/** The configs are listed last: a missing config did not exist after the references were read. */
export interface ClusterSnapshot {
  /** The nodes that the operator manages. */
  readonly nodes: readonly InspectedNode[];
  /** The names of the other nodes. */
  readonly skippedNodes?: readonly string[];
  readonly pools: readonly InspectedPool[];
  /** The configs that are not being deleted. */
  readonly configs: ReadonlySet<ConfigName>;
  readonly terminatingConfigs: ReadonlySet<ConfigName>;
  /** The roles of all nodes if the selector matches none. */
  readonly roles?: readonly string[];
}

/**
 * Prefers `master`, then a custom pool, then `worker` (machine-config-operator, pkg/helpers/helpers.go),
 * then the pool for which the node's config was rendered.
 */
export function findPoolOfNode<Pool extends InspectedPool>(
  { referrer, labels }: InspectedNode,
  pools: readonly Pool[],
): Pool | undefined {
  const candidates = pools.filter((pool) => matchesNodeSelector(pool.referrer.nodeSelector, labels));
  const poolName = findPoolNameByConfig(referrer);
  return (
    candidates.find((pool) => pool.referrer.name === 'master') ??
    candidates.find((pool) => pool.referrer.name !== 'worker') ??
    candidates[0] ??
    pools.find((pool) => pool.referrer.name === poolName)
  );
}
