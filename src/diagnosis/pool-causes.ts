import { toSeconds } from '../common/duration.ts';
import { cannotWait, canWait, type Cause, type Waiting } from './cause.ts';
import { findLatest } from './times.ts';
import { type Cluster, isOlderThan, isStalled, judgeProgress } from './cluster.ts';
import type { InspectedOsConfig, InspectedPool } from './cluster-snapshot.ts';
import { judgeEmptyStatus } from './dangling-references.ts';
import {
  findMissingOfPool,
  findStatusOfPool,
  findTerminating,
  isBetweenReleases,
  judgeRenderer,
} from './missing-configs.ts';
import { quote } from './quote.ts';
import { findFailedSources, findRejectedSettings } from './rejected-objects.ts';
import { isObjectName } from '../kube/api-object.ts';
import { toConfigName } from '../mco/machine-config.ts';
import { matchesNodeSelector } from '../mco/pool-of-node.ts';
import { hasStrongReference, type Referrer } from '../mco/referrer.ts';

/** Of these the operator makes the condition `Degraded`, which says nothing of its own. */
const DERIVED_CONDITION = 'Degraded';
const NODE_CONDITION = 'NodeDegraded';
const RENDER_CONDITION = 'RenderDegraded';
/** The operator gives it to the pools `master` and `arbiter`, and a person can give it to others. */
const REQUIRED_LABEL = 'operator.machineconfiguration.openshift.io/required-for-upgrade';
/** The operator starts the build of a new config within seconds. */
const START_MINUTES = 10;

/**
 * Why a pool does not move. The pool is not being deleted. Call it once the causes of all nodes have been found.
 */
export function findPoolCauses(pool: InspectedPool, cluster: Cluster): readonly Cause[] {
  const { specConfig } = pool;
  const causes: Cause[] = [...findMissingOfPool(pool, cluster), ...findTerminating(pool, cluster)];
  const invalid = findRejectedSettings(pool, cluster);
  const failedSources = findFailedSources(pool, cluster);
  // Without a spec, the condition says why.
  const isExplained = pool.conditions[RENDER_CONDITION] !== undefined || invalid.length + failedSources.length > 0;
  if (!isExplained && specConfig === undefined) {
    causes.push({ code: 'SpecEmpty', referrer: pool, field: 'spec', waiting: judgeRenderer(pool, cluster) });
  } else if (!isExplained) causes.push(...findUnrendered(pool, cluster));
  causes.push(
    ...failedSources,
    ...(invalid.length > 0 ? invalid : findEmptyStatus(pool, cluster)),
    ...findRestorePause(pool, cluster),
    ...findPause(pool),
  );
  const buildCauses = findBuildCauses(pool, cluster);
  causes.push(...buildCauses, ...findDegradedConditions(pool, buildCauses, cluster));
  return causes.every(isAboutNextConfig) ? [...causes, ...findStalledRollout(pool, cluster)] : causes;
}

/**
 * Whether the nodes with a cause explain why no other node is updated: they are all that remain, or as many as the
 * operator updates at the same time (getAllCandidateMachines in pkg/controller/node/node_controller.go).
 */
function isHeldBack(pool: InspectedPool, cluster: Cluster): boolean {
  const { specConfig, maxUnavailable = 1 } = pool;
  const nodes = cluster.nodesOf(pool);
  const stopped = new Set<Referrer | undefined>(cluster.causesOfNodes(pool).map(({ referrer }) => referrer));
  const isLast = nodes.every((node) => stopped.has(node) || node.desiredConfig === specConfig);
  const share = typeof maxUnavailable === 'string' ? nodes.length / 100 : 1;
  // The operator rounds down, but to at least 1.
  const limit = Math.max(1, Math.floor(Number.parseInt(`${maxUnavailable}`) * share));
  return stopped.size > 0 && (isLast || stopped.size >= limit);
}

/** The operator renders a new source within seconds, unless its ControllerConfig is unfinished or it hangs. */
function findUnrendered(pool: InspectedPool, cluster: Cluster): readonly Cause[] {
  const { machineConfigSelector, sources } = pool;
  const unrendered = (cluster.sources ?? []).filter(
    ({ name, labels, createdAt }) =>
      matchesNodeSelector(machineConfigSelector, labels) &&
      !sources.includes(name) &&
      isOlderThan(START_MINUTES, createdAt, cluster),
  );
  return unrendered.map(({ name: source, createdAt }) => {
    const waiting = judgeProgress(
      'The operator can still render it',
      'The operator has not rendered it',
      createdAt,
      cluster,
    );
    return { code: 'SourceNotRendered', referrer: pool, source, waiting };
  });
}

/** The operator goes on with the roll-out of the last config. */
function isAboutNextConfig(cause: Cause): boolean {
  if (cause.code === 'SourceNotRendered') return true;
  // Whether the operator renders it is unknown, so its log is the way out once nothing has changed for long.
  if (cause.code === 'ConfigMissing') return cause.field === 'spec' && cause.waiting.helps;
  if (cause.code === 'PoolDegraded') return cause.condition === RENDER_CONDITION;
  return cause.code === 'ObjectRejected' && cause.setting !== 'nodeSelector' && cause.setting !== 'maxUnavailable';
}

/** The operator installs a release only once these pools are updated (syncRequiredMachineConfigPools). */
function findPause(pool: InspectedPool): readonly Cause[] {
  const { labels, paused, pause, pausedFor, specConfig, statusConfig } = pool;
  const isBehind = statusConfig !== undefined && specConfig !== statusConfig;
  if (!paused || pausedFor !== undefined || !isBehind || labels[REQUIRED_LABEL] === undefined) return [];
  const waiting = cannotWait('OpenShift completes no update while the pool is paused');
  return [{ code: 'PoolPaused', referrer: pool, by: pause && quote(pause.manager), since: pause?.at, waiting }];
}

function findEmptyStatus(pool: InspectedPool, cluster: Cluster): readonly Cause[] {
  const { paused, pausedFor } = pool;
  const hasMissing = cluster.causesOfNodes(pool).some((cause) => cause.code === 'ConfigMissing');
  const code = judgeEmptyStatus(pool, hasMissing, cluster.now);
  // A long first roll-out is one like every other.
  if (code !== 'StatusEmpty') return [];
  const needsUnpause = paused && pausedFor === undefined;
  const replacement = findStatusOfPool(pool, cluster);
  return [
    { code, referrer: pool, field: 'status', needsUnpause, replacement, waiting: judgeFirstRollout(pool, cluster) },
  ];
}

/** The operator sets the status when all machines of the pool run the config in the spec. */
function judgeFirstRollout(pool: InspectedPool, cluster: Cluster): Waiting {
  const hope = 'The operator sets the field when all machines of the pool run the config in its spec';
  const isStuck = cluster.causesOfNodes(pool).some(({ waiting }) => !waiting.helps);
  const isBlocked = pool.paused || isStuck || !judgeRenderer(pool, cluster).helps;
  if (isBlocked) return cannotWait(`${hope}. ${pool.paused ? 'It is paused' : 'Another problem prevents that'}`);
  return judgeProgress(hope, 'Nothing in the pool has changed', pool.movedAt, cluster);
}

/** Each condition that ends with `Degraded`, with its own message. Releases add conditions. */
function findDegradedConditions(pool: InspectedPool, buildCauses: readonly Cause[], cluster: Cluster) {
  const degraded = Object.entries(pool.conditions).filter(([type]) => type.endsWith('Degraded'));
  const specific = degraded.filter(([type]) => type !== DERIVED_CONDITION);
  const ofNodes = cluster.causesOfNodes(pool);
  return (specific.length > 0 ? specific : degraded).flatMap(([type, condition]): readonly Cause[] => {
    const cause = { code: 'PoolDegraded', referrer: pool } as const;
    if (type === 'ImageBuildDegraded' && buildCauses.length > 0) return [];
    if (type === NODE_CONDITION && ofNodes.length > 0) {
      const helps = ofNodes.every(({ waiting }) => waiting.helps);
      const waiting = helps
        ? canWait('Its nodes can still recover')
        : cannotWait('Solve their problems: other nodes can wait for them');
      return [{ ...cause, condition: undefined, waiting }];
    }
    const { message = '', since } = condition ?? {};
    const isStuck = (type === RENDER_CONDITION && !isBetweenReleases(message)) || isStalled(since, cluster);
    const waiting = isStuck
      ? cannotWait(
          since === undefined ? 'A person must correct it' : `The condition has been true since ${toSeconds(since)}`,
        )
      : canWait('The operator tries again');
    return [{ ...cause, condition: type, evidence: quote(message) || undefined, waiting }];
  });
}

/** A running restore unpauses the pool itself. One that was killed never does, and looks the same. */
function findRestorePause(pool: InspectedPool, cluster: Cluster): readonly Cause[] {
  const { paused, pausedFor } = pool;
  if (!paused || pausedFor === undefined) return [];
  const config = toConfigName(pausedFor);
  const isNamed = cluster.nodes.some((node) => hasStrongReference(config, node));
  return [
    {
      code: 'PausedForRestore',
      referrer: pool,
      config,
      canContinue: isNamed && isObjectName(config),
      isMissing: !cluster.configs.has(config),
      waiting: cannotWait('Only its restore unpauses it'),
    },
  ];
}

/** In image mode a pool rolls out a config only with an image that contains it (pkg/controller/build/reconciler.go). */
function findBuildCauses(pool: InspectedPool, cluster: Cluster): readonly Cause[] {
  const { specConfig } = pool;
  const osConfig = findOsConfig(pool, cluster);
  if (osConfig === undefined || specConfig === undefined) return [];
  const current = findCurrentBuild(pool, osConfig, cluster);
  // Another image for the same config starts no roll-out before it is built.
  if (!cluster.isRollingOut(pool) && current?.name !== osConfig.currentBuild) return [];
  if (current === undefined) return findGoneBuild(pool, osConfig, cluster);
  const { failure, name: build } = current;
  const { rebuild } = osConfig;
  if (failure === undefined) return [];
  return [
    {
      code: 'BuildFailed',
      referrer: pool,
      build,
      osConfig: osConfig.name,
      canBeRepeated: build === osConfig.currentBuild && rebuild === undefined,
      evidence: quote(failure),
      waiting:
        rebuild !== undefined && !isOlderThan(START_MINUTES, rebuild.since, cluster)
          ? canWait('Another build has been asked for')
          : cannotWait('The operator does not repeat a failed build'),
    },
  ];
}

/**
 * The build that the MachineOSConfig names, or else the newest. When a build starts, the operator deletes all others
 * that have not succeeded (deleteOtherBuildsForMachineOSConfig).
 */
function findCurrentBuild(pool: InspectedPool, osConfig: InspectedOsConfig, cluster: Cluster) {
  const own = (cluster.builds ?? []).filter((build) => build.osConfig === osConfig.name);
  const builds = own.filter(({ references }) => references[0]?.config === pool.specConfig);
  const newest = findLatest(builds.map(({ createdAt }) => createdAt));
  return (
    builds.find(({ name }) => name === osConfig.currentBuild) ?? builds.find(({ createdAt }) => createdAt === newest)
  );
}

/**
 * The operator starts no build while the named one exists, even if that is of an old config, and none for a Degraded
 * pool (pkg/controller/build/reconciler.go).
 */
function findGoneBuild(pool: InspectedPool, osConfig: InspectedOsConfig, cluster: Cluster): readonly Cause[] {
  const { movedAt, conditions } = pool;
  const { name, currentBuild } = osConfig;
  if (currentBuild === undefined || cluster.builds === undefined || conditions[DERIVED_CONDITION]) return [];
  const exists = cluster.builds.some((build) => build.name === currentBuild);
  if (exists && !isOlderThan(START_MINUTES, movedAt, cluster)) return [];
  const waiting =
    exists || isStalled(movedAt, cluster)
      ? cannotWait('Nothing builds the image that the pool waits for')
      : canWait('The operator can still start a build');
  return [{ code: 'BuildGone', referrer: pool, build: currentBuild, exists, osConfig: name, waiting }];
}

function findOsConfig({ name }: InspectedPool, { osConfigs = [] }: Cluster): InspectedOsConfig | undefined {
  return osConfigs.find(({ pool }) => pool === name);
}

function findStalledRollout(pool: InspectedPool, cluster: Cluster): readonly Cause[] {
  const { paused, specConfig: config, conditions, machineCount, updatedMachineCount } = pool;
  if (config === undefined || paused || !cluster.isRollingOut(pool)) return [];
  const osConfig = findOsConfig(pool, cluster);
  const build = osConfig && findCurrentBuild(pool, osConfig, cluster);
  const ofNodes = cluster.nodesOf(pool).map(({ movedAt }) => movedAt);
  const since = findLatest([pool.movedAt, build?.createdAt, ...ofNodes]);
  if (!isStalled(since, cluster)) return [];
  // The operator notes the image when the build turns successful, and never again (updateMachineOSBuild).
  const isUnused = build?.isSuccessful === true && build.image !== '' && build.image !== osConfig?.image;
  const isBuilding = osConfig !== undefined && (build?.isSuccessful !== true || isUnused);
  // The operator builds beside a node that is unavailable, but not for a Degraded pool.
  const isExplained = isBuilding ? conditions[DERIVED_CONDITION] !== undefined : isHeldBack(pool, cluster);
  if (isExplained) return [];
  // Within seconds after a node was uncordoned or deleted, the operator counts again, and then goes on.
  const { unavailableMachineCount } = pool;
  const isCountOld = unavailableMachineCount > 0 && cluster.causesOfNodes(pool).length === 0;
  const waiting = isCountOld
    ? canWait('The operator has not yet counted the machines again')
    : cannotWait(`Nothing in the pool has changed since ${toSeconds(since)}`);
  return [
    {
      code: 'RolloutStalled',
      referrer: pool,
      config,
      machineCount,
      updatedMachineCount,
      deployment: isBuilding ? 'machine-os-builder' : 'machine-config-controller',
      build: isBuilding ? build?.name : undefined,
      unusedBy: isUnused ? osConfig?.name : undefined,
      waiting,
    },
  ];
}
