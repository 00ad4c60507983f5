import { type ConfigName, parsePoolName } from './machine-config.ts';
import {
  isPool,
  isUnreportedNode,
  type NamedReference,
  type NodeReferrer,
  type PoolReferrer,
  type Referrer,
  type ReferrerKind,
  type Strength,
} from './referrer.ts';

export interface ReferenceGroup {
  /** Those of the first referrers of each kind. References of the same referrer are adjacent. */
  readonly references: readonly NamedReference[];
  readonly referrersByKind: Readonly<Record<ReferrerKind, number>>;
  readonly total: number;
}

/** All references to one config, and other facts for its message. */
export interface ReferenceSummary {
  readonly strong: ReferenceGroup;
  readonly weak: ReferenceGroup;
  readonly unreportedNodes: number;
  /** Whether the pool of the config is being deleted, or does not exist. */
  readonly isPoolDeleted: boolean;
  /** A node with `conflictingPools`, which the operator moves to no other config. */
  readonly stuckNode: Pick<NodeReferrer, 'name' | 'conflictingPools'> | undefined;
}

/**
 * @param referrers those of the config and all pools, or more
 * @param maxReferrersPerKind limits the references, but not the counts
 */
export function summarizeReferences(
  config: ConfigName,
  referrers: readonly Referrer[],
  maxReferrersPerKind: number = Number.POSITIVE_INFINITY,
): ReferenceSummary {
  return {
    strong: groupReferences(config, 'strong', referrers, maxReferrersPerKind),
    weak: groupReferences(config, 'weak', referrers, maxReferrersPerKind),
    unreportedNodes: referrers.filter(isUnreportedNode).length,
    isPoolDeleted: isPoolDeleted(parsePoolName(config), referrers.filter(isPool)),
    stuckNode: referrers.find(
      (referrer): referrer is NodeReferrer => referrer.kind === 'Node' && referrer.conflictingPools !== undefined,
    ),
  };
}

function groupReferences(
  config: ConfigName,
  strength: Strength,
  referrers: readonly Referrer[],
  maxReferrersPerKind: number,
): ReferenceGroup {
  const references: NamedReference[] = [];
  const referrersByKind = { Node: 0, MachineConfigPool: 0, MachineOSBuild: 0 };
  let total = 0;
  for (const { kind, name, references: all } of referrers) {
    const named = all.filter((reference) => reference.config === config && reference.strength === strength);
    if (named.length === 0) continue;
    total += named.length;
    referrersByKind[kind] += 1;
    if (referrersByKind[kind] > maxReferrersPerKind) continue;
    for (const reference of named) references.push({ kind, name, ...reference });
  }
  return { references, referrersByKind, total };
}

/** Early in an installation there are no pools. */
function isPoolDeleted(pool: string | undefined, pools: readonly PoolReferrer[]): boolean {
  if (pool === undefined || pools.length === 0) return false;
  return !pools.some(({ name, isTerminating }) => name === pool && isTerminating !== true);
}
