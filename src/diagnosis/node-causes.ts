import { toSeconds } from '../common/duration.ts';
import { cannotWait, canWait, type Cause, type PoolChoice } from './cause.ts';
import { findLatest } from './times.ts';
import {
  type Cluster,
  findDownSince,
  findLostSince,
  findRemoval,
  isOlderThan,
  isRebooting,
  isStalled,
  judgeProgress,
} from './cluster.ts';
import {
  findConfigOfPool,
  hasFailed,
  type InspectedNode,
  type InspectedPool,
  isForClient,
  isPoolOfControlPlane,
  type NodeReadiness,
} from './cluster-snapshot.ts';
import { BUILT_IN_POOLS } from './dangling-references.ts';
import type { DaemonReason } from './daemon-reason.ts';
import { findLostPool, findMissingOfNode, findTerminating, judgeTakingBack } from './missing-configs.ts';
import { listLabelsForPool } from './pool-labels.ts';
import { quote } from './quote.ts';
import { findRejectedSelector } from './rejected-objects.ts';
import { type ConfigName, parsePoolName } from '../mco/machine-config.ts';
import { findPoolOfNode, isWindows } from '../mco/pool-of-node.ts';
import { NODE_FIELDS } from '../mco/referrer.ts';

/** The daemon retries after at most 60 s, and then waits 10 s until it is uncordoned (pkg/daemon/daemon.go). */
const RETRY = 'The daemon tries again within 2 minutes';
const UPDATE = 'The daemon drains the node and reboots it once';
/** Within two retries, a daemon whose disk has a `currentconfig` updates from that, whatever the annotation says. */
const SELF_REPAIR_MINUTES = 2;
const DRAIN = 'The operator repeats the drain every few minutes';
const PERMANENT = 'More healthy pods do not change that';
const UNAVAILABLE = 'The operator does not update the node, and counts it against maxUnavailable';
/** A drain can take this long without an obstacle. */
const MAX_DRAIN_MINUTES = 10;
/** The field managers of persons, with the programs that published advice names. */
const MANUAL_MANAGER = /^(?:kubectl|oc)(?:-[a-z-]+)?$|^Mozilla/;
const OPERATOR_MANAGER = 'machine-config-controller';

/** Why a node does not move, or cannot. A missing config explains every other failure of its daemon. */
export function findNodeCauses(node: InspectedNode, cluster: Cluster): readonly Cause[] {
  const missing = findMissingOfNode(node, cluster);
  const causes: (Cause | undefined)[] = [
    ...missing,
    ...findTerminating(node, cluster),
    ...findUnreported(node, cluster),
    findPoolProblem(node, cluster),
  ];
  const lostSince = findLostSince(node, cluster);
  // What a lost node last reported says nothing about it now.
  if (lostSince === undefined && missing.length === 0) causes.push(...findStandstill(node, cluster));
  const pending = findPendingCertificate(node, cluster);
  const isExplained = lostSince !== undefined && missing.length > 0;
  if (pending !== undefined) causes.push(pending);
  else if (!isExplained) causes.push(...findUnavailability(node, cluster));
  return causes.filter((cause) => cause !== undefined);
}

function findUnreported(node: InspectedNode, cluster: Cluster): readonly Cause[] {
  const { currentConfig: current, desiredConfig: desired, createdAt } = node;
  if (current !== undefined && desired !== undefined) return [];
  const cause = { code: 'NotReported', referrer: node, replacement: undefined } as const;
  if (current !== undefined) {
    // The operator sets it, as on a new node (pkg/controller/node/node_controller.go).
    const waiting = judgeTakingBack(node, cluster, node.movedAt);
    return [{ ...cause, field: 'desiredConfig', waiting, replacement: waiting.helps ? undefined : current }];
  }
  const hope = 'The machine-config-daemon reports it when it starts';
  const waiting = judgeProgress(hope, 'Its machine-config-daemon has reported nothing', createdAt, cluster);
  return [{ ...cause, field: desired === undefined ? undefined : 'currentConfig', waiting }];
}

function findPoolProblem(node: InspectedNode, cluster: Cluster): Cause | undefined {
  const { labels } = node;
  const { pool, conflicting } = cluster.poolOf(node);
  const config = node.currentConfig ?? node.desiredConfig;
  const rejected = findRejectedSelector(node, cluster);
  if (rejected !== undefined) return rejected;
  if (pool !== undefined) return findDeletedPool(node, cluster);
  // The operator updates no Windows node, whatever its annotations say.
  if (cluster.livePools.length === 0 || isWindows(labels)) return undefined;
  // The operator wants what the node desires.
  const named = [node.desiredConfig, config].map((each) => cluster.livePoolByName.get(each && parsePoolName(each)));
  const own = named.find((each) => each !== undefined);
  if (conflicting.length > 0) {
    return {
      code: 'PoolConflict',
      referrer: node,
      conflicting: conflicting.map((each) => each.name),
      choices: listChoices(node, own, cluster),
      waiting: cannotWait('A node can be in one custom pool only, so the operator neither drains nor updates it'),
    };
  }
  if (config === undefined) return undefined;
  const lostPool = own === undefined ? findLostPool(node, cluster) : undefined;
  const missingPool = lostPool?.pool;
  // Without its own pool, the labels of another one would change its config.
  const other = missingPool === undefined ? cluster.livePoolByName.get('worker') : undefined;
  const target = own ?? other;
  const wanted = target === undefined ? [] : listLabelsForPool(target, labels, cluster.livePools);
  return {
    code: 'NotInPool',
    referrer: node,
    pool: wanted.length === 0 ? undefined : target?.name,
    labels: wanted,
    missingPool,
    waiting: lostPool?.waiting ?? cannotWait('The operator ignores a node that no pool selects'),
  };
}

/** How labels leave a node in one of its custom pools, or in the pool whose config it names, if they can. */
function listChoices(node: InspectedNode, own: InspectedPool | undefined, cluster: Cluster): readonly PoolChoice[] {
  const { conflicting, selecting } = cluster.poolOf(node);
  const choose = (pool: InspectedPool): PoolChoice => {
    return { pool: pool.name, labels: listLabelsForPool(pool, node.labels, cluster.livePools, conflicting) };
  };
  // No label makes a node a part of the control plane that is none.
  const isOwnPossible = own !== undefined && (!isPoolOfControlPlane(own.name) || selecting.includes(own));
  const wanted = isOwnPossible ? [own] : conflicting;
  return wanted.map(choose).filter(({ labels }) => labels.length > 0);
}

/** A node at rest with a config of a deleted pool. */
function findDeletedPool(node: InspectedNode, cluster: Cluster): Cause | undefined {
  const { currentConfig: config } = node;
  const deletedPool = config && parsePoolName(config);
  const isAtRest = !hasFailed(node) && config === node.desiredConfig;
  if (config === undefined || deletedPool === undefined || !isAtRest || !cluster.configs.has(config)) return undefined;
  // The operator creates a built-in pool again.
  if (cluster.livePoolByName.has(deletedPool) || BUILT_IN_POOLS.has(deletedPool)) return undefined;
  const role = `node-role.kubernetes.io/${deletedPool}`;
  const { [role]: label, ...labels } = node.labels;
  const { pool } = findPoolOfNode(labels, cluster.livePools);
  if (pool?.specConfig === undefined || pool.specConfig === config) return undefined;
  if (pool.paused || node.cordon !== undefined) return undefined;
  // Nothing tells the operator, but it looks at each pool again (resyncPeriod in pkg/controller/common).
  const hasRole = label !== undefined;
  const isTerminating = cluster.pools.some(({ name }) => name === deletedPool);
  return {
    code: 'PoolDeleted',
    referrer: node,
    config,
    pool: pool.name,
    deletedPool,
    isTerminating,
    labels: hasRole ? [`${role}-`] : [],
    waiting:
      isTerminating && hasRole
        ? cannotWait('The operator updates no node of a pool that is being deleted')
        : canWait('The operator notices it within 40 minutes, or when a label of the node changes'),
  };
}

/** Why the daemon of a node does not reach its desired config, although all configs exist. */
function findStandstill(node: InspectedNode, cluster: Cluster): readonly (Cause | undefined)[] {
  const { daemonReason, desiredConfig, reason } = node;
  // findUnreported says what the node waits for. Without a pool, neither the daemon nor the drain goes on (syncNode in
  // pkg/daemon/daemon.go and pkg/controller/drain).
  const hasNoPool = cluster.poolOf(node).conflicting.length > 0 || cluster.invalidSelector !== undefined;
  if (desiredConfig === undefined || hasNoPool) return [];
  const outdated = findOutdatedDesired(node, cluster);
  const blocked = findBlockedDrain(node, cluster);
  if (!hasFailed(node)) return [outdated ?? blocked ?? findStalledUpdate(node, cluster)];

  const { type } = daemonReason;
  // The daemon asks for a drain after it has compared the disk, and keeps the reason of an earlier failure.
  const isPast = type === 'drainFailed' ? node.isDrained === true : node.drain !== undefined;
  if (blocked !== undefined) return [outdated, blocked];
  if (isRebooting(node, cluster)) return [judgeRecovery(node, 'The node restarts', node.readiness?.since, cluster)];
  if (isPast && outdated === undefined) {
    const hope = 'The daemon has gone on with the update since then';
    return [judgeRecovery(node, hope, findLatest([node.movedAt, node.drain?.since]), cluster)];
  }
  if (type === 'configNotFound' || type === 'bootstrapMismatch') {
    const named = daemonReason.config;
    const isNamed = named === undefined || NODE_FIELDS.some((field) => node[field] === named);
    // The missing config exists again, or the annotations name others.
    const changes = [named && cluster.createdAt?.get(named), node.currentConfigWrite?.at, node.desiredConfigWrite?.at];
    return [judgeRecovery(node, isNamed ? RETRY : `${RETRY}. ${UPDATE}`, findLatest(changes), cluster)];
  }
  // The daemon compares the disk before each update, also before the one back.
  if (type === 'diskDiffers') return [outdated, judgeDisk(node, daemonReason, outdated !== undefined, cluster)];
  return [outdated === undefined ? judgeFailure(node, cluster) : { ...outdated, evidence: quote(reason) }];
}

function judgeFailure(node: InspectedNode, cluster: Cluster): Cause | undefined {
  const evidence = quote(node.reason);
  // The daemon sets this state only then (updateErrorState in pkg/daemon/daemon.go).
  const isRefused = node.daemonState === 'Unreconcilable';
  const { pool } = cluster.poolOf(node);
  // The condition can be older, because of another node.
  const since = findLatest([pool?.conditions['NodeDegraded']?.since, node.desiredConfigWrite?.at]);
  const waiting = isRefused
    ? cannotWait('The daemon cannot apply the change to a running machine')
    : judgeProgress(RETRY, 'The daemon has tried again without success', since, cluster);
  const isTakenBack = node.currentConfig !== node.desiredConfig && pool?.paused !== true;
  const isRepairable = !isRefused && evidence !== '';
  return { code: 'NodeDegraded', referrer: node, evidence, waiting, isRepairable, isTakenBack };
}

/** The reason stays until the node is Done. */
function judgeRecovery(node: InspectedNode, hope: string, changedAt: Date | undefined, cluster: Cluster): Cause {
  const since = changedAt ?? cluster.poolOf(node).pool?.conditions['NodeDegraded']?.since;
  const waiting = judgeProgress(hope, 'Its machine-config-daemon has not recovered', since, cluster);
  return { code: 'Recovering', referrer: node, evidence: quote(node.reason), waiting };
}

/** The daemon compares the disk with the config before each update, and overwrites no difference. */
function judgeDisk(
  node: InspectedNode,
  { comparedWith, difference, detail }: DaemonReason & { readonly type: 'diskDiffers' },
  isOutdated: boolean,
  cluster: Cluster,
): Cause {
  const { currentConfig: current, desiredConfig: desired, currentConfigWrite, desiredConfigWrite } = node;
  const cause = { referrer: node, evidence: quote(node.reason) } as const;
  const changedAt = findLatest([currentConfigWrite?.at, desiredConfigWrite?.at]);
  const isRecent = changedAt !== undefined && !isOlderThan(SELF_REPAIR_MINUTES, changedAt, cluster);

  const { pool } = cluster.poolOf(node);
  if (pool !== undefined && comparedWith !== undefined && isForeignToControlPlane(comparedWith, pool)) {
    const waiting = cannotWait(
      'Its message is about a config of another pool, so see what runs on the node before you act on it',
    );
    return { ...cause, code: 'NodeDegraded', waiting, isRepairable: false, isTakenBack: false };
  }

  const isOtherConfig = ![current, desired, undefined].includes(comparedWith);
  // The annotations of a node that has reached its pool's config are those of its daemon.
  const isManual =
    currentConfigWrite !== undefined &&
    MANUAL_MANAGER.test(currentConfigWrite.manager) &&
    current === desired &&
    current === pool?.specConfig;
  if (isRecent && (isOtherConfig || isManual)) {
    const why = `The annotations have just changed. ${RETRY}, and most disks then need no repair`;
    return { ...cause, code: 'Recovering', waiting: canWait(why) };
  }
  return {
    ...cause,
    code: 'DiskDiffers',
    evidence: quote(detail),
    comparedWith: comparedWith ?? current ?? '',
    difference,
    isAtRest: current === desired || isOutdated,
    annotatedBy:
      isManual && !isOtherConfig
        ? `${quote(currentConfigWrite.manager)} at ${toSeconds(currentConfigWrite.at)}`
        : undefined,
    waiting: cannotWait('The daemon does not overwrite what differs'),
  };
}

/** The desired config exists, but its pool does not want it any more. */
function findOutdatedDesired(node: InspectedNode, cluster: Cluster): Cause | undefined {
  const { currentConfig: current, desiredConfig: config, cordon, desiredConfigWrite } = node;
  const { pool } = cluster.poolOf(node);
  if (pool === undefined || current === undefined || config === undefined || config === current) return undefined;
  const wanted = [pool.specConfig, pool.statusConfig];
  if (wanted.includes(config) || wanted.every((name) => name === undefined)) return undefined;

  const existing = [current, ...wanted].find((name) => name !== undefined && cluster.configs.has(name));
  const cause = { code: 'DesiredOutdated', referrer: node, field: 'desiredConfig', config, isCordoned: false } as const;
  if (hasFailed(node)) {
    const waiting = judgeTakingBack(node, cluster, desiredConfigWrite?.at);
    // While a drain runs, an uncordon lets new pods start, which it evicts again.
    const isCordoned = cordon !== undefined && !pool.paused && node.drain === undefined;
    return { ...cause, isCordoned, replacement: waiting.helps || isCordoned ? undefined : existing, waiting };
  }
  const isWrongPool = isForeignToControlPlane(config, pool);
  if (!isWrongPool && !isStalled(desiredConfigWrite?.at, cluster)) return undefined;
  const waiting = cannotWait('The operator does not stop an update that has begun');
  return { ...cause, replacement: existing, waiting };
}

/** A node between `worker` and a custom pool is normal. Between a pool of the control plane and another it is not. */
function isForeignToControlPlane(config: ConfigName, { name }: InspectedPool): boolean {
  const poolOfConfig = parsePoolName(config);
  return poolOfConfig !== name && [poolOfConfig, name].some(isPoolOfControlPlane);
}

function findBlockedDrain(node: InspectedNode, cluster: Cluster): Cause | undefined {
  const { name, drain } = node;
  const since = drain?.since;
  // After an hour without success, the daemon gives up, is Degraded, and asks again (pkg/daemon/drain.go).
  const hasGivenUp = node.daemonReason.type === 'drainFailed' && hasFailed(node) && node.isDrained !== true;
  if (drain === undefined && !hasGivenUp) return undefined;
  const obstacles = cluster.drainObstacles?.get(name) ?? { budgets: [], endingPods: [] };
  const isPermanent = obstacles.budgets.some(({ isTemporary }) => isTemporary !== true);
  const takesLong = isOlderThan(MAX_DRAIN_MINUTES, since, cluster);
  if (!hasGivenUp && !isPermanent && !takesLong) return undefined;
  const canEnd = obstacles.graceEnd !== undefined || obstacles.isFree === true;
  const isInVain = !canEnd && (hasGivenUp || isStalled(since, cluster));
  const progress = isInVain ? cannotWait(`${DRAIN}, without success for an hour`) : canWait(DRAIN);
  return {
    code: 'DrainBlocked',
    referrer: node,
    since,
    ...obstacles,
    isUncordoned: node.cordon === undefined && takesLong,
    waiting: isPermanent ? cannotWait(PERMANENT) : progress,
  };
}

/** A daemon that does not run, or hangs, reports nothing. */
function findStalledUpdate(node: InspectedNode, cluster: Cluster): Cause | undefined {
  const { currentConfig, desiredConfig: config, daemonState: state } = node;
  const hasUpdate = config !== currentConfig || node.hasNewImage === true || state !== 'Done';
  const since = node.movedAt ?? cluster.poolOf(node).pool?.movedAt;
  if (config === undefined || currentConfig === undefined || !hasUpdate || !isStalled(since, cluster)) return undefined;
  const waiting = cannotWait(`Its machine-config-daemon has reported nothing since ${toSeconds(since)}`);
  return { code: 'UpdateStalled', referrer: node, config, state: quote(state), waiting };
}

/** A kubelet that says why it is not ready has a client certificate. */
function findPendingCertificate(node: InspectedNode, { pendingRequests = [] }: Cluster): Cause | undefined {
  const { name, readiness } = node;
  if (readiness === undefined || readiness.isReady || readiness.isReported) return undefined;
  if (!pendingRequests.some((request) => request.node === name && isForClient(request))) return undefined;
  // The cluster-machine-approver approves such a request only for a machine that is no node yet (csr_check.go).
  const waiting = cannotWait('Only a person approves it for a node that exists');
  return { code: 'CertificatePending', referrer: node, since: readiness.since, waiting };
}

function judgeDown(node: InspectedNode, readiness: NodeReadiness, cluster: Cluster): Cause {
  const { currentConfig: current, desiredConfig: desired } = node;
  const { since, isReported, message } = readiness;
  const { pool } = cluster.poolOf(node);
  const cause = {
    code: 'NodeNotReady',
    referrer: node,
    since,
    isReported,
    finalizers: node.finalizers,
    // A node that reboots comes back.
    removal: findLostSince(node, cluster) === undefined ? undefined : findRemoval(node, cluster),
    evidence: quote(message),
  } as const;
  const hope = isReported ? 'Its kubelet can become ready' : 'A reboot can take this long';
  const demand = isReported ? 'Its kubelet runs, and says why' : 'The kubelet must answer again';
  const waiting = isStalled(since, cluster) ? cannotWait(demand) : canWait(hope);
  // The operator moves no node that is not ready, also not away from the config that broke it.
  const isAtRest = isReported && current !== undefined && current === desired && cluster.configs.has(current);
  const isLeft = isAtRest && pool !== undefined && current !== pool.specConfig;
  return { ...cause, waiting, replacement: isLeft ? findConfigOfPool(pool, cluster) : undefined };
}

/** Why the operator counts a node as unavailable, and starts no update in its pool (pkg/controller/node/status.go). */
function findUnavailability(node: InspectedNode, cluster: Cluster): readonly (Cause | undefined)[] {
  const { readiness } = node;
  const isDown = readiness?.isReady === false;
  const { pool } = cluster.poolOf(node);
  // The controller cordons a node for its update, and uncordons it afterwards. A node reboots in its update.
  const isUpdating = node.desiredConfig !== node.currentConfig || node.daemonState === 'Working';
  const isAwaited = !isUpdating && pool !== undefined && !pool.paused && cluster.isRollingOut(pool);

  const isReported = isDown && (isAwaited || findDownSince(node, cluster) !== undefined);
  const down = isReported ? judgeDown(node, readiness, cluster) : undefined;
  // A full disk also explains why an update fails, or does not go on.
  const isStuck = isUpdating && (hasFailed(node) || isStalled(node.movedAt, cluster));
  const pressure = !isDown && (isAwaited || isStuck) ? findPressure(node, cluster) : undefined;
  return [down, isAwaited ? findCordon(node, cluster) : undefined, pressure];
}

function findPressure(node: InspectedNode, cluster: Cluster): Cause | undefined {
  if (node.pressure === undefined) return undefined;
  const { type: condition, since, message } = node.pressure;
  const waiting = isStalled(since, cluster) ? cannotWait(UNAVAILABLE) : canWait('The kubelet can still end it');
  return { code: 'NodeUnavailable', referrer: node, condition, since, evidence: quote(message), waiting };
}

/** The operator cordons a node itself for a drain. A daemon that recovers only lets it undo its own cordon. */
function findCordon(node: InspectedNode, cluster: Cluster): Cause | undefined {
  const { cordon } = node;
  const write = cordon?.write;
  const isOfOperator = write?.manager === OPERATOR_MANAGER;
  const isUndone = isOfOperator && (hasFailed(node) || !isOlderThan(MAX_DRAIN_MINUTES, write.at, cluster));
  if (cordon === undefined || isUndone) return undefined;
  const isByProgram = write !== undefined && !isOfOperator && !MANUAL_MANAGER.test(write.manager);
  return {
    code: 'NodeCordoned',
    referrer: node,
    by: write && quote(write.manager),
    isByProgram,
    since: write?.at,
    waiting:
      isByProgram && !isStalled(write.at, cluster)
        ? canWait(`${UNAVAILABLE}, until the program has finished with it`)
        : cannotWait(UNAVAILABLE),
  };
}
