import { toSeconds } from '../common/duration.ts';
import { groupBy } from '../common/group-by.ts';
import { findEarliest } from './times.ts';
import { cannotWait, canWait, type Cause, type MissingConfigReport, type Removal, type Waiting } from './cause.ts';
import {
  canHaveBootstrapHost,
  type ClusterSnapshot,
  findForeignConfigs,
  type InspectedNode,
  type InspectedPool,
  isPoolOfControlPlane,
  type PendingCertificateRequest,
} from './cluster-snapshot.ts';
import { createNearestFinder } from './nearest-name.ts';
import { findInvalidRequirement } from './pool-labels.ts';
import { type ConfigName, parsePoolName } from '../mco/machine-config.ts';
import { findPoolOfNode, type PoolOfNode } from '../mco/pool-of-node.ts';

export interface DiagnosisScope {
  readonly selector?: string | undefined;
  /** Undefined means 1, and the control plane of the install-config. */
  readonly minNodes?: number | undefined;
  /** Whether all control plane nodes are in the scope. */
  readonly hasControlPlane?: boolean;
  readonly now: Date;
  readonly guardReports?: ReadonlyMap<string, Partial<MissingConfigReport>>;
}

/** A snapshot with what several causes need. There can be 50,000 nodes or 20,000 pools, so it has indexes. */
export interface Cluster extends ClusterSnapshot, DiagnosisScope {
  readonly livePools: readonly InspectedPool[];
  readonly livePoolsBySpec: ReadonlyMap<ConfigName | undefined, readonly InspectedPool[]>;
  readonly livePoolByName: ReadonlyMap<string | undefined, InspectedPool>;
  /** A node that ran a config, so its disk has a copy. One whose kubelet answers and that is in the pool wins. */
  readonly nodeWithCopy: ReadonlyMap<ConfigName, InspectedNode>;
  /** The missing configs that `restore` rejects, because only nodes of other pools name them. */
  readonly foreignConfigs: ReadonlySet<ConfigName>;
  /** The pool whose node selector the operator rejects, with the reason. It then finds the pool of no node. */
  readonly invalidSelector: { readonly pool: string; readonly reason: string } | undefined;
  /** When the oldest node was created or turned ready: early in an install, less than an hour ago. */
  readonly oldestNodeAt: Date | undefined;
  /** Whether an install can still run, so that its bootstrap host can still have the first configs. */
  readonly hasBootstrapHost: boolean;
  readonly poolOf: (node: InspectedNode) => PoolOfNode<InspectedPool>;
  readonly nodesOf: (pool: InspectedPool) => readonly InspectedNode[];
  /** Whether a machine has not reached the config or the image of the pool, or is unavailable. */
  readonly isRollingOut: (pool: InspectedPool) => boolean;
  /** Those of the nodes of a pool. Call it once the causes of all nodes have been found. */
  readonly causesOfNodes: (pool: InspectedPool) => readonly Cause[];
  readonly findNearest: (missing: string) => ConfigName | undefined;
}

type Clock = Pick<Cluster, 'now'>;

/** Without a change in this time, the operator makes no progress. */
const STALLED_MINUTES = 60;
/** A machine can take this long to reboot. Its kubelet does not answer meanwhile. */
const MAX_REBOOT_MINUTES = 15;

export function isStalled(since: Date | undefined, clock: Clock): since is Date {
  return isOlderThan(STALLED_MINUTES, since, clock);
}

/**
 * Waiting helps until nothing has changed for an hour.
 * @param hope what will happen
 * @param problem what has not happened, a clause before `since`
 */
export function judgeProgress(hope: string, problem: string, since: Date | undefined, clock: Clock): Waiting {
  return isStalled(since, clock) ? cannotWait(`${problem} since ${toSeconds(since)}`) : canWait(hope);
}

export function isOlderThan(minutes: number, since: Date | undefined, { now }: Clock): boolean {
  return since !== undefined && now.getTime() - since.getTime() > minutes * 60_000;
}

/** The certificate requests that have had no answer for an hour. */
export function listOldRequests(
  cluster: Pick<Cluster, 'now' | 'pendingRequests'>,
): readonly PendingCertificateRequest[] {
  const { pendingRequests = [] } = cluster;
  return pendingRequests.filter(({ createdAt }) => isStalled(new Date(createdAt ?? Number.NaN), cluster));
}

/** Since when the kubelet of a node has not answered, if that is longer than a reboot takes. */
export function findLostSince(node: InspectedNode, clock: Clock): Date | undefined {
  return node.readiness?.isReported === true ? undefined : findDownSince(node, clock);
}

/** Since when a node is not ready, if that is longer than a reboot takes. */
export function findDownSince({ readiness }: InspectedNode, clock: Clock): Date | undefined {
  if (readiness === undefined || readiness.isReady) return undefined;
  return isOlderThan(MAX_REBOOT_MINUTES, readiness.since, clock) ? readiness.since : undefined;
}

/** Whether a node is not ready, but only for as long as a reboot takes. */
export function isRebooting(node: InspectedNode, clock: Clock): boolean {
  return node.readiness?.isReady === false && findDownSince(node, clock) === undefined;
}

/** A member of etcd is removed only while most of the others answer. */
export function findRemoval(node: InspectedNode, cluster: Cluster): Removal | undefined {
  if (node.finalizers !== undefined) return undefined;
  const isMember = (each: InspectedNode) => isPoolOfControlPlane(cluster.poolOf(each).pool?.name);
  if (!isMember(node)) return 'node';
  const machines = cluster.nodes.filter(isMember);
  const down = machines.filter((each) => findDownSince(each, cluster) !== undefined);
  return 2 * down.length < machines.length ? 'etcdMember' : undefined;
}

/** @param causesByNode is filled while the causes of the nodes are found */
export function createCluster(
  snapshot: ClusterSnapshot,
  scope: DiagnosisScope,
  causesByNode: ReadonlyMap<InspectedNode, readonly Cause[]>,
): Cluster {
  const { nodes, pools, configs } = snapshot;
  const poolByNode = new Map(nodes.map((node) => [node, findPoolOfNode(node.labels, pools)]));
  const poolOf = (node: InspectedNode) => poolByNode.get(node) ?? findPoolOfNode(node.labels, pools);
  const nodesByPool = groupBy(nodes, (node) => poolOf(node).pool);
  const nodesOf = (pool: InspectedPool) => nodesByPool.get(pool) ?? [];
  const livePools = pools.filter(({ isTerminating }) => isTerminating !== true);
  const foreign = [...findForeignConfigs({ nodes, pools: livePools })].filter(([, naming]) =>
    naming.every((node) => poolOf(node).pool !== undefined),
  );
  // An empty node selector stops only its own pool (ListPools in pkg/helpers/helpers.go).
  const [invalidSelector] = pools.flatMap(({ name: pool, nodeSelector }) => {
    const reason = findInvalidRequirement(nodeSelector) ?? '{}';
    return reason === '{}' ? [] : [{ pool, reason }];
  });
  const rollingOut = new Set(
    invalidSelector === undefined ? pools.filter((pool) => isRollingOut(pool, nodesOf(pool))) : [],
  );
  return {
    ...snapshot,
    ...scope,
    livePools,
    livePoolsBySpec: groupBy(livePools, ({ specConfig }) => specConfig),
    livePoolByName: new Map(livePools.map((pool) => [pool.name, pool])),
    nodeWithCopy: findNodesWithCopy(nodes, poolOf, scope),
    foreignConfigs: new Set(foreign.map(([config]) => config)),
    invalidSelector,
    oldestNodeAt: findEarliest(nodes.flatMap(({ createdAt, readiness }) => [createdAt, readiness?.since])),
    hasBootstrapHost: canHaveBootstrapHost(snapshot, scope.now),
    poolOf,
    nodesOf,
    isRollingOut: (pool) => rollingOut.has(pool),
    causesOfNodes: (pool) => nodesOf(pool).flatMap((node) => causesByNode.get(node) ?? []),
    findNearest: createNearestFinder(configs),
  };
}

/** The operator also says so while a machine is unavailable or has another OS image (pkg/controller/node/status.go). */
function isRollingOut(pool: InspectedPool, nodes: readonly InspectedNode[]): boolean {
  const { specConfig, statusConfig, conditions } = pool;
  if (specConfig === undefined) return false;
  if (conditions['Updating'] !== undefined) return true;
  const isAtTarget = ({ currentConfig = specConfig, desiredConfig = specConfig }: InspectedNode) =>
    currentConfig === specConfig && desiredConfig === specConfig;
  return statusConfig !== specConfig || !nodes.every(isAtTarget);
}

function findNodesWithCopy(
  nodes: readonly InspectedNode[],
  poolOf: Cluster['poolOf'],
  scope: DiagnosisScope,
): ReadonlyMap<ConfigName, InspectedNode> {
  const rank = (node: InspectedNode): number => {
    const pool = node.currentConfig && parsePoolName(node.currentConfig);
    const isOwn = poolOf(node).selecting.some(({ name }) => name === pool);
    return (findLostSince(node, scope) === undefined ? 2 : 0) + (isOwn ? 1 : 0);
  };
  // The last one of a config wins.
  const ranked = nodes.toReversed().map((node) => ({ node, config: node.currentConfig, rank: rank(node) }));
  const sorted = ranked.toSorted((a, b) => a.rank - b.rank);
  return new Map(sorted.flatMap(({ node, config }) => (config === undefined ? [] : [[config, node]])));
}
