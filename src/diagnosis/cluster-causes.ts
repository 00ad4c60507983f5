import { countNoun, joinFirst, joinWithAnd } from '../common/printable-text.ts';
import { canWait, cannotWait, type Cause, type Waiting } from './cause.ts';
import { type Cluster, judgeProgress, listOldRequests } from './cluster.ts';
import { countMissingMachines } from './cluster-snapshot.ts';
import { findMissingOfBuild } from './missing-configs.ts';
import { quote } from './quote.ts';

const WORK: Readonly<Record<string, string>> = {
  'machine-config-operator': 'Nothing installs a release, or creates a built-in pool, until it runs',
  'machine-config-controller': 'Nothing renders configs or updates nodes until it runs',
  'machine-os-builder': 'Nothing builds OS images until it runs',
};

/** The causes that are about no single node or pool. */
export function findClusterCauses(cluster: Cluster): readonly Cause[] {
  return [
    ...findTooFewNodes(cluster),
    ...findStoppedOperators(cluster),
    ...findMissingPools(cluster),
    ...(cluster.builds ?? []).flatMap((build) => findMissingOfBuild(build, cluster)),
  ];
}

/** Only some platforms approve the certificate requests of machines themselves. */
function findTooFewNodes(cluster: Cluster): readonly Cause[] {
  const shortage = describeTooFewNodes(cluster);
  if (shortage === undefined) return [];
  return [{ code: 'TooFewNodes', shortage, waiting: judgeJoining(cluster) }];
}

function judgeJoining(cluster: Cluster): Waiting {
  const names = listOldRequests(cluster).map(({ name }) => name);
  if (names.length > 0) return cannotWait(`Nobody has approved ${joinFirst(names)} for an hour`);
  const isOfInstall = cluster.minNodes === undefined && cluster.nodes.length > 0;
  return isOfInstall && !cluster.hasBootstrapHost
    ? cannotWait('The install is over, so no machine joins before a person adds one')
    : canWait('More machines can join');
}

function describeTooFewNodes(cluster: Cluster): string | undefined {
  const { nodes, pools, selector, minNodes, hasControlPlane, controlPlaneSize } = cluster;
  const selection = selector === undefined ? 'in the cluster' : `with label ${selector}`;
  if (nodes.length === 0) {
    if (pools.length === 0) {
      return 'no MachineConfigPool exists: the cluster is hosted (HyperShift), or its install has just begun';
    }
    // The label can be misspelled.
    const existing = selector === undefined ? '' : ` (pools: ${joinFirst(pools.map(({ name }) => name))})`;
    return `the Machine Config Operator manages no node ${selection}${existing}`;
  }
  if (minNodes !== undefined && nodes.length >= minNodes) return undefined;
  if (minNodes !== undefined) return `only ${countNoun(nodes.length, 'node')} ${selection}, ${minNodes} are required`;
  const missing = [...countMissingMachines(hasControlPlane === true ? controlPlaneSize : undefined, cluster)];
  if (missing.length === 0) return undefined;
  const counts = missing.map(([pool, count]) => countNoun(count, `${pool} node`));
  return `nodes of the control plane, which the install-config wants, have not joined: ${joinWithAnd(counts)}`;
}

function findStoppedOperators({ stoppedOperators = [] }: Cluster): readonly Cause[] {
  return stoppedOperators.map((stopped) => {
    const waiting = cannotWait(WORK[stopped.deployment] ?? 'Nothing does its work until it runs');
    return { code: 'OperatorStopped', ...stopped, waiting };
  });
}

/**
 * What the operator says of itself.
 * @param others the causes of nodes and pools. They explain why it waits for pools, and so does a roll-out
 */
export function findOperatorFailure(others: readonly Cause[], cluster: Cluster): readonly Cause[] {
  const { operatorFailure: failure, pools, isRollingOut } = cluster;
  if (failure === undefined) return [];
  // Two steps of its sync wait for nodes (syncRequiredMachineConfigPools in pkg/operator/sync.go).
  const isWaiting = failure.reason === 'RequiredPoolsFailed' || failure.message.includes('waitForDaemonsetRollout');
  if (isWaiting && (others.length > 0 || pools.some(isRollingOut))) return [];
  const waiting = judgeProgress('The operator tries again', 'It has failed', failure.since, cluster);
  // The controller has rendered nothing for the new release (isMachineConfigPoolConfigurationValid in status.go).
  const isUnrendered = failure.message.includes('controller version mismatch');
  const deployment = isUnrendered ? 'machine-config-controller' : 'machine-config-operator';
  return [{ code: 'OperatorDegraded', deployment, evidence: quote(failure.message), waiting }];
}

/** The operator creates the pools `master` and `worker` itself, early in an install. */
function findMissingPools(cluster: Cluster): readonly Cause[] {
  const { livePools, nodes, oldestNodeAt, stoppedOperators = [] } = cluster;
  // An operator that does not run is the cause.
  if (livePools.length > 0 || nodes.length === 0 || stoppedOperators.length > 0) return [];
  const hope = 'The operator creates them early in an install';
  const waiting = judgeProgress(hope, 'The operator has created none', oldestNodeAt, cluster);
  return [{ code: 'PoolsMissing', waiting }];
}
