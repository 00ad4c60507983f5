import { cannotWait, canWait, type ConfigMissing, type ConfigTerminating, type Waiting } from './cause.ts';
import { type Cluster, findDownSince, findLostSince, findRemoval, isStalled, judgeProgress } from './cluster.ts';
import { findConfigOfPool, hasFailed, type InspectedNode, type InspectedPool } from './cluster-snapshot.ts';
import { BUILT_IN_POOLS, findDanglingReferences } from './dangling-references.ts';
import { findFailedSources } from './rejected-objects.ts';
import { isObjectName } from '../kube/api-object.ts';
import { type ConfigName, parsePoolName } from '../mco/machine-config.ts';
import type { Referrer } from '../mco/referrer.ts';

/** A cause for each field that names a config that does not exist. */
export function findMissingOfNode(node: InspectedNode, cluster: Cluster): readonly ConfigMissing[] {
  const missing = findMissing(node, cluster);
  if (missing.length === 0) return missing;
  const { pool, conflicting } = cluster.poolOf(node);
  const { currentConfig, desiredConfig, daemonReason } = node;
  const lostSince = findLostSince(node, cluster);
  const ofPool = lostSince === undefined ? findLostPool(node, cluster)?.waiting : undefined;
  // The pool says whether its own config is missing, too.
  const { specConfig = desiredConfig } = pool ?? {};
  const isRetargeted = hasFailed(node) && ![specConfig, currentConfig].includes(desiredConfig);
  const takingBack = judgeTakingBack(node, cluster, node.desiredConfigWrite?.at);
  return missing.map((cause) => {
    const isReset = cause.field === 'desiredConfig' && desiredConfig !== currentConfig && conflicting.length === 0;
    const existing = pool && findConfigOfPool(pool, cluster);
    return {
      ...cause,
      waiting:
        isRetargeted && takingBack.helps && cause.field === 'desiredConfig' ? takingBack : (ofPool ?? cause.waiting),
      replacement: existing ?? (isReset ? currentConfig : undefined),
      lostSince,
      removal: findRemoval(node, cluster),
      isFirstBoot: daemonReason.type === 'bootstrapMismatch' || (pool !== undefined && pool.statusConfig === undefined),
    };
  });
}

/**
 * The built-in pool of a node in no pool, if it does not exist. The operator creates it again, and renders the same
 * config from the same sources, before a daemon misses it (syncMachineConfigPools in pkg/operator/sync.go).
 */
export function findLostPool(node: InspectedNode, cluster: Cluster) {
  const { livePools, livePoolByName, stoppedOperators = [] } = cluster;
  const config = node.currentConfig ?? node.desiredConfig;
  const pool = config && parsePoolName(config);
  const isLost = pool !== undefined && BUILT_IN_POOLS.has(pool) && !livePoolByName.has(pool);
  if (!isLost || livePools.length === 0 || cluster.poolOf(node).pool !== undefined) return undefined;
  const isLate = hasFailed(node) || stoppedOperators.length > 0;
  const waiting = isLate
    ? cannotWait(`The operator has not created pool ${pool} again`)
    : canWait(`The operator creates pool ${pool} again within a minute, and the same config from the same sources`);
  return { pool, waiting };
}

/**
 * Whether the operator gives a node that is Done, or whose update has failed, the config of its pool
 * (getAllCandidateMachines in node_controller.go).
 * @param since when it could first do so. Undefined if that is unknown
 */
export function judgeTakingBack(node: InspectedNode, cluster: Cluster, since: Date | undefined): Waiting {
  const { pool } = cluster.poolOf(node);
  if (pool?.paused === true) return cannotWait('The operator updates no node of a paused pool');
  if (pool?.isTerminating === true) return cannotWait('The pool of the node is being deleted');
  if (node.cordon !== undefined) return cannotWait('The operator skips the node, because it is cordoned');
  if (findDownSince(node, cluster) !== undefined) return cannotWait('The operator skips a node that is not ready');
  const hope = 'The operator sets desiredConfig to that of the pool within a minute, or once other nodes are available';
  return judgeProgress(hope, 'The operator has not set it to that of the pool', since, cluster);
}

/** Call it once the causes of all nodes have been found. */
export function findMissingOfPool(pool: InspectedPool, cluster: Cluster): readonly ConfigMissing[] {
  return findMissing(pool, cluster).map((cause) => {
    const running = findRunningConfig(pool, cluster);
    if (cause.field === 'status') {
      const waiting = isSettling(pool, cluster) ? canWait('The operator replaces it within a minute') : cause.waiting;
      return { ...cause, waiting, replacement: findStatusOfPool(pool, cluster) };
    }
    return { ...cause, replacement: cause.wasRun ? undefined : (findConfigOfPool(pool, cluster) ?? running) };
  });
}

/** Once all machines are updated, the operator sets the status to the spec (pkg/controller/node/status.go). */
function isSettling(pool: InspectedPool, cluster: Cluster): boolean {
  const { specConfig } = pool;
  const isAtTarget = ({ currentConfig, desiredConfig }: InspectedNode) =>
    currentConfig === specConfig && desiredConfig === specConfig;
  if (specConfig === undefined || !cluster.configs.has(specConfig) || isStalled(pool.movedAt, cluster)) return false;
  return cluster.nodesOf(pool).every(isAtTarget) && cluster.causesOfNodes(pool).every(({ waiting }) => waiting.helps);
}

export function findMissingOfBuild(referrer: Referrer, cluster: Cluster): readonly ConfigMissing[] {
  const waiting = cannotWait('The build can never end without it');
  return findMissing(referrer, cluster).map((cause) => ({ ...cause, waiting }));
}

export function findTerminating(referrer: Referrer, cluster: Cluster): readonly ConfigTerminating[] {
  const references = findDanglingReferences([referrer], cluster.configs);
  return references
    .filter(({ config }) => cluster.terminatingConfigs.has(config))
    .map(({ field, config }) => ({
      code: 'ConfigTerminating',
      referrer,
      field,
      config,
      waiting: judgeRendering(config, cluster),
    }));
}

function findMissing(referrer: Referrer, cluster: Cluster): readonly ConfigMissing[] {
  return findDanglingReferences([referrer], cluster.configs)
    .filter(({ config }) => !cluster.terminatingConfigs.has(config))
    .map(({ field, config }) => {
      const holder = cluster.nodeWithCopy.get(config);
      const isReachable = holder !== undefined && findLostSince(holder, cluster) === undefined;
      // A printed command contains the name, and an annotation can have any text.
      const isRestorable = parsePoolName(config) !== undefined && isObjectName(config);
      return {
        code: 'ConfigMissing',
        referrer,
        field,
        fields: referrer.references.filter((each) => each.config === config).map((each) => each.field),
        config,
        ...cluster.guardReports?.get(config),
        waiting: judgeRendering(config, cluster),
        suggestion: cluster.findNearest(config) ?? null,
        wasRun: holder !== undefined,
        copyOn: isReachable && isRestorable && !cluster.foreignConfigs.has(config) ? holder.name : undefined,
        hasBootstrapHost: cluster.hasBootstrapHost,
      };
    });
}

/** The operator renders the config in the spec of a pool, and the first config of a new pool. */
function judgeRendering(config: ConfigName, cluster: Cluster): Waiting {
  const { livePools, livePoolByName, livePoolsBySpec } = cluster;
  const poolName = parsePoolName(config);
  const own = livePoolByName.get(poolName);
  // Early in an install nodes have configs of the bootstrap, but no pool exists or has a spec.
  if (own === undefined && poolName !== undefined && livePools.length === 0) return judgeRenderer(undefined, cluster);
  const naming = livePoolsBySpec.get(config) ?? [];
  const isFirst = own !== undefined && own.specConfig === undefined;
  const able = naming.find(({ conditions }) => conditions['RenderDegraded'] === undefined) ?? naming[0];
  if (able === undefined && !isFirst) return cannotWait("No pool's spec names it, so nothing renders it");
  return judgeRenderer(able ?? own, cluster);
}

/**
 * Whether the operator renders no config only because its parts are of two releases: in an upgrade, the new controller
 * waits for new sources (generateRenderedMachineConfig in render_controller.go).
 * @param message of RenderDegraded, or its quotation
 */
export function isBetweenReleases(message: string): boolean {
  return message.includes('(my version: ');
}

/** Whether the operator can still render a config for a pool, or the first one without pools. */
export function judgeRenderer(pool: InspectedPool | undefined, cluster: Cluster): Waiting {
  const { RenderDegraded, NodeDegraded } = pool?.conditions ?? {};
  if (RenderDegraded !== undefined && !isBetweenReleases(RenderDegraded.message)) {
    return cannotWait('The operator cannot render it');
  }
  const [failed] = pool === undefined ? [] : findFailedSources(pool, cluster);
  if (failed !== undefined) {
    return cannotWait(`The operator renders none for the pool, because ${failed.kind} ${failed.name} failed`);
  }
  const [stopped] = cluster.stoppedOperators ?? [];
  if (stopped !== undefined) return cannotWait('The operator does not run');
  // A new pool has no config yet.
  const sinceOfPool = pool?.specConfig === undefined ? pool?.createdAt : NodeDegraded?.since;
  const since = pool === undefined ? cluster.oldestNodeAt : sinceOfPool;
  const hope = 'The Machine Config Operator can still render it';
  return judgeProgress(hope, 'The operator has not rendered it', since, cluster);
}

/** The config that the status of a pool must name, so that machines can boot. Undefined if `restore` sets it. */
export function findStatusOfPool(pool: InspectedPool, cluster: Cluster): ConfigName | undefined {
  const isRestored = cluster
    .causesOfNodes(pool)
    .some(({ code, waiting }) => code === 'ConfigMissing' && !waiting.helps);
  const config = findRunningConfig(pool, cluster) ?? pool.specConfig;
  return isRestored || config === undefined || !cluster.configs.has(config) ? undefined : config;
}

/** A config of the pool that its nodes run. */
function findRunningConfig(pool: InspectedPool, cluster: Cluster): ConfigName | undefined {
  const currentConfigs = cluster.nodesOf(pool).map(({ currentConfig }) => currentConfig);
  return currentConfigs.find(
    (config) => config !== undefined && cluster.configs.has(config) && parsePoolName(config) === pool.name,
  );
}
