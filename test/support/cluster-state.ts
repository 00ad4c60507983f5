import type { ConfigName } from '../../src/mco/machine-config.ts';
import { isPool, isUnreportedNode, type Referrer } from '../../src/mco/referrer.ts';
import type { ClusterState } from '../../src/references/cluster-state.ts';
import { summarizeReferences } from '../../src/references/config-referrers.ts';

/** The state of a cluster with these referrers, by default as of now, completely read, and all managed. */
export function toClusterState(
  config: ConfigName,
  referrers: readonly Referrer[],
  rest: Partial<ClusterState> = {},
): ClusterState {
  return {
    references: summarizeReferences(config, referrers, 10),
    pools: referrers.filter(isPool),
    unreportedNodes: referrers.filter(isUnreportedNode),
    unreadable: [],
    readAt: new Date(),
    ...rest,
  };
}
