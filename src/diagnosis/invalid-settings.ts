import { cannotWait, type SettingInvalid, type SourceFailed } from './cause.ts';
import type { Cluster } from './cluster.ts';
import type { InspectedPool } from './cluster-snapshot.ts';
import { findInvalidRequirement } from './pool-labels.ts';
import { quote } from './quote.ts';
import type { PoolReferrer } from '../mco/referrer.ts';

/** A number of machines, or a part of them. With 0 the operator updates one (maxUnavailable in node_controller.go). */
const LIMIT = /^(?:\d+|"\+?\d+%")$/;
const EFFECTS = {
  nodeSelector: 'finds the pool of no node',
  machineConfigSelector: 'renders no config for the pool',
  maxUnavailable: 'updates no node of the pool',
} as const;

/** The cause of every node, and of every other pool, if the operator rejects the node selector of a pool. */
export function findRejectedSelector(
  referrer: SettingInvalid['referrer'],
  { invalidSelector }: Cluster,
): SettingInvalid | undefined {
  return invalidSelector && describe(referrer, 'nodeSelector', invalidSelector.pool, invalidSelector.reason);
}

/** What the operator rejects, and says so only in its log. */
export function findInvalidSettings(pool: InspectedPool, cluster: Cluster): readonly SettingInvalid[] {
  const { referrer, machineConfigSelector, maxUnavailable = 1 } = pool;
  const limit = JSON.stringify(maxUnavailable);
  const reasons = [
    ['nodeSelector', findInvalidRequirement(referrer.nodeSelector)],
    ['machineConfigSelector', findInvalidRequirement(machineConfigSelector)],
    ['maxUnavailable', LIMIT.test(limit) ? undefined : limit],
  ] as const;
  const own = reasons.flatMap(([field, reason]) =>
    reason === undefined ? [] : [describe(referrer, field, referrer.name, reason)],
  );
  return own.length > 0 ? own : [findRejectedSelector(referrer, cluster) ?? []].flat();
}

/**
 * The KubeletConfigs and ContainerRuntimeConfigs that keep the operator from rendering a config for a pool
 * (AreMCGeneratingSubControllersCompletedForPool in pkg/apihelpers).
 * @param referrer undefined for those that select no pool
 */
export function findFailedSources(
  referrer: PoolReferrer | undefined,
  { failedSources = [] }: Cluster,
): readonly SourceFailed[] {
  const own = failedSources.filter(({ pools }) => (referrer ? pools.includes(referrer.name) : pools.length === 0));
  const waiting = cannotWait('The operator writes no MachineConfig from it');
  return own.map(({ kind, name, message }) => {
    const cause = { code: 'SourceFailed', kind, name, evidence: quote(message), waiting } as const;
    return referrer === undefined ? cause : { ...cause, referrer };
  });
}

function describe(
  referrer: SettingInvalid['referrer'],
  field: SettingInvalid['field'],
  settingOf: string,
  reason: string,
): SettingInvalid {
  const waiting = cannotWait(`The operator ${EFFECTS[field]}, and says so only in its log`);
  return { code: 'SettingInvalid', referrer, field, settingOf, evidence: quote(reason), waiting };
}
