import { cannotWait, type ObjectRejected } from './cause.ts';
import type { Cluster } from './cluster.ts';
import type { InspectedPool } from './cluster-snapshot.ts';
import { findInvalidRequirement } from './pool-labels.ts';
import { quote } from './quote.ts';
import type { PoolReferrer, Referrer } from '../mco/referrer.ts';

/** A number of machines, or a part of them. With 0 the operator updates one (maxUnavailable in node_controller.go). */
const LIMIT = /^(?:\d+|"\+?\d+%")$/;

/** The cause of every node, and of every other pool, if the operator rejects the node selector of a pool. */
export function findRejectedSelector(referrer: Referrer, { invalidSelector }: Cluster): ObjectRejected | undefined {
  if (invalidSelector === undefined) return undefined;
  const { pool: name, reason } = invalidSelector;
  const effect = 'The operator finds the pool of no node, and says so only in its log';
  return { ...reject('MachineConfigPool', name, reason, effect), setting: 'nodeSelector', referrer };
}

/** What the operator rejects in a pool, and says so only in its log. */
export function findRejectedSettings(pool: InspectedPool, cluster: Cluster): readonly ObjectRejected[] {
  const { name, nodeSelector, machineConfigSelector, maxUnavailable = 1 } = pool;
  const ofCluster = findRejectedSelector(pool, cluster);
  if (ofCluster !== undefined) return [ofCluster];
  const limit = JSON.stringify(maxUnavailable);
  const problem = typeof maxUnavailable === 'string' ? 'neither a number nor a percentage' : 'negative';
  const reasons = {
    nodeSelector: findInvalidRequirement(nodeSelector),
    machineConfigSelector: findInvalidRequirement(machineConfigSelector),
    maxUnavailable: LIMIT.test(limit) ? undefined : `${limit} is ${problem}`,
  };
  const effect = 'The operator says so only in its log';
  return Object.entries(reasons).flatMap(([setting, reason]) =>
    reason === undefined ? [] : [{ ...reject('MachineConfigPool', name, reason, effect), setting, referrer: pool }],
  );
}

/**
 * The KubeletConfigs and ContainerRuntimeConfigs that failed. The operator then renders no config for their pools
 * (AreMCGeneratingSubControllersCompletedForPool in pkg/apihelpers).
 * @param referrer undefined for those that select no pool
 */
export function findFailedSources(
  referrer: PoolReferrer | undefined,
  { failedSources = [] }: Cluster,
): readonly ObjectRejected[] {
  const own = failedSources.filter(({ pools }) => (referrer ? pools.includes(referrer.name) : pools.length === 0));
  const effect = referrer ? 'Until it succeeds, the operator renders no other config for the pool' : 'It has no effect';
  return own.map(({ kind, name, message }) => ({
    ...reject(kind, name, message, effect),
    ...(referrer && { referrer }),
  }));
}

function reject(kind: string, name: string, reason: string, effect: string): ObjectRejected {
  return { code: 'ObjectRejected', kind, name, evidence: quote(reason), waiting: cannotWait(effect) };
}
