import { toSeconds } from '../common/duration.ts';
import { joinWithAnd } from '../common/printable-text.ts';
import {
  type AnnotatedByHand,
  type CertificatePending,
  cannotWait,
  canWait,
  type Cause,
  type DesiredOutdated,
  type DiskDiffers,
  type DrainBlocked,
  type NotReported,
  type PoolDeleted,
  type Recovering,
  type UpdateStalled,
} from './cause.ts';
import { findLatest } from './times.ts';
import { type Cluster, findLostSince, isOlderThan, isStalled } from './cluster.ts';
import { type InspectedNode, type InspectedPool, isPoolOfControlPlane } from './cluster-snapshot.ts';
import type { DaemonReason } from './daemon-reason.ts';
import { findMissingOfNode, findTerminating } from './missing-configs.ts';
import { listLabelsForPool } from './pool-labels.ts';
import { quote } from './quote.ts';
import { type ConfigName, formatName, parsePoolName, toConfigName } from '../mco/machine-config.ts';
import { isWindows } from '../mco/pool-of-node.ts';
import { NODE_FIELDS } from '../mco/referrer.ts';

/** States of a node whose update has failed (machine-config-operator, pkg/daemon/constants). */
const FAILED_STATES: ReadonlySet<string> = new Set(['Degraded', 'Unreconcilable']);
/** The daemon retries after at most 60 s, and then waits 10 s until it is uncordoned (pkg/daemon/daemon.go). */
const RETRY = 'The daemon tries again within 2 minutes';
const UPDATE = 'The daemon drains the node and reboots it once';
/** Within two retries, a daemon whose disk has a `currentconfig` updates from that, whatever the annotation says. */
const SELF_REPAIR_MINUTES = 2;
/** A drain can take this long without an obstacle. */
const MAX_DRAIN_MINUTES = 10;
/** The field managers of persons, with the programs that published advice names. */
const MANUAL_MANAGER = /^(?:kubectl|oc)(?:-[a-z-]+)?$|^Mozilla/;
const OPERATOR_MANAGER = 'machine-config-controller';
/** In which a daemon has nothing to do. Empty before its first report. */
const IDLE_STATES: ReadonlySet<string> = new Set(['', 'Done']);

/** Why a node does not move, or cannot. A missing config explains every other failure of its daemon. */
export function findNodeCauses(node: InspectedNode, cluster: Cluster): readonly Cause[] {
  const missing = findMissingOfNode(node, cluster);
  const causes: (Cause | undefined)[] = [
    ...missing,
    ...findTerminating(node.referrer, cluster),
    ...findUnreported(node, cluster),
    findPoolProblem(node, cluster),
  ];
  const lostSince = findLostSince(node, cluster);
  // What a lost node last reported says nothing about it now.
  if (lostSince === undefined && missing.length === 0) causes.push(...findStandstill(node, cluster));
  const isExplained = lostSince !== undefined && missing.length > 0;
  causes.push(findPendingCertificate(node, cluster) ?? (isExplained ? undefined : findUnavailability(node, cluster)));
  return causes.filter((cause) => cause !== undefined);
}

export function hasFailed({ state }: InspectedNode): boolean {
  return FAILED_STATES.has(state);
}

function findUnreported(node: InspectedNode, cluster: Cluster): readonly NotReported[] {
  const { referrer, currentConfig: current } = node;
  const absent = NODE_FIELDS.filter((field) => node[field] === undefined);
  if (absent.length === 0) return [];
  const cause = { code: 'NotReported', referrer, replacement: undefined } as const;
  if (current !== undefined) {
    // The operator sets it, as on a new node (pkg/controller/node/node_controller.go).
    const isPaused = cluster.poolOf(node).pool?.paused === true;
    const waiting = isPaused
      ? cannotWait('The operator sets it only when the pool is no longer paused')
      : canWait('The operator sets it within a minute');
    return [{ ...cause, field: 'desiredConfig', waiting, replacement: isPaused ? current : undefined }];
  }
  const createdAt = referrer.state.type === 'unreported' ? referrer.state.createdAt : undefined;
  const waiting = isStalled(createdAt, cluster)
    ? cannotWait(`It has existed since ${toSeconds(createdAt)}, so read the log of its machine-config-daemon`)
    : canWait('The machine-config-daemon reports it when it starts');
  if (absent.length === NODE_FIELDS.length) return [{ ...cause, waiting }];
  return absent.map((field) => ({ ...cause, field, waiting }));
}

function findPoolProblem(node: InspectedNode, cluster: Cluster): Cause | undefined {
  const { referrer, labels } = node;
  const { pool, conflicting } = cluster.poolOf(node);
  const config = node.currentConfig ?? node.desiredConfig;
  if (pool !== undefined) return findDeletedPool(node, pool, cluster);
  // The operator updates no Windows node, whatever its annotations say.
  if (cluster.livePools.length === 0 || isWindows(labels)) return undefined;
  const own = cluster.livePoolByName.get(config && parsePoolName(config));
  if (conflicting.length > 0) {
    const names = conflicting.map((each) => formatName(each.referrer.name));
    return {
      code: 'PoolConflict',
      referrer,
      labels: own === undefined ? [] : listLabelsForPool(own, labels, cluster.livePools, conflicting),
      evidence: `custom pools ${joinWithAnd(names)}`,
      waiting: cannotWait('The operator accepts one, and does not update the node'),
    };
  }
  if (config === undefined) return undefined;
  const target = own ?? cluster.livePoolByName.get('worker');
  const wanted = target === undefined ? [] : listLabelsForPool(target, labels, cluster.livePools);
  return {
    code: 'NotInPool',
    referrer,
    pool: wanted.length === 0 ? undefined : target?.referrer.name,
    isOfControlPlane: isPoolOfControlPlane(target?.referrer.name),
    labels: wanted,
    waiting: cannotWait('The operator ignores a node that no pool selects'),
  };
}

/**
 * The operator moves a node of a deleted pool only when the node or its new pool changes, and not when the old pool is
 * deleted (pkg/controller/node/node_controller.go).
 */
function findDeletedPool(node: InspectedNode, pool: InspectedPool, cluster: Cluster): PoolDeleted | undefined {
  const { referrer, labels, currentConfig: config } = node;
  const isAtRest = !hasFailed(node) && config === node.desiredConfig;
  const deletedPool = config && parsePoolName(config);
  if (config === undefined || deletedPool === undefined || !isAtRest || !cluster.configs.has(config)) return undefined;
  const wanted = pool.specConfig;
  if (cluster.livePoolByName.has(deletedPool) || pool.paused || wanted === undefined || wanted === config)
    return undefined;

  const role = `node-role.kubernetes.io/${deletedPool}`;
  const hasRole = labels[role] !== undefined;
  return {
    code: 'PoolDeleted',
    referrer,
    config,
    deletedPool,
    pool: pool.referrer.name,
    labels: hasRole ? [`${role}-`] : [],
    waiting: hasRole
      ? cannotWait('The operator can miss it until one of its labels changes')
      : canWait('The operator updates it at the next change of the node, such as of any label'),
  };
}

/** Why the daemon of a node does not reach its desired config, although all configs exist. */
function findStandstill(node: InspectedNode, cluster: Cluster): readonly (Cause | undefined)[] {
  const { daemonReason, desiredConfig, reason } = node;
  // findUnreported says what the node waits for.
  if (desiredConfig === undefined) return [];
  const outdated = findOutdatedDesired(node, cluster);
  if (!hasFailed(node)) return [outdated ?? findBlockedDrain(node, cluster) ?? findStalledUpdate(node, cluster)];

  const { type } = daemonReason;
  if (type === 'configNotFound' || type === 'bootstrapMismatch')
    return [judgeRecovery(node, cluster, daemonReason.config)];
  // The daemon compares the disk before each update, also before the one back.
  if (type === 'diskDiffers') return [outdated, judgeDisk(node, daemonReason, outdated !== undefined, cluster)];
  return [outdated === undefined ? judgeFailure(node, cluster) : { ...outdated, evidence: quote(reason) }];
}

function judgeFailure(node: InspectedNode, cluster: Cluster): Cause | undefined {
  const { referrer, reason } = node;
  const { type } = node.daemonReason;
  const evidence = quote(reason);
  if (type === 'drainFailed') return findBlockedDrain(node, cluster);
  if (node.state === 'Unreconcilable' || type === 'unreconcilable') {
    const waiting = cannotWait('The daemon cannot make this change, so undo it in its source MachineConfig');
    return { code: 'Unreconcilable', referrer, evidence, waiting };
  }
  const since = cluster.poolOf(node).pool?.conditions['NodeDegraded']?.since;
  const waiting = isStalled(since, cluster)
    ? cannotWait(`The daemon has tried again since ${toSeconds(since)} without success`)
    : canWait(RETRY);
  return { code: 'NodeDegraded', referrer, evidence, waiting };
}

/** The missing config exists again, or the annotations name others. The reason stays until the node is Done. */
function judgeRecovery(node: InspectedNode, cluster: Cluster, named: ConfigName | undefined): Recovering {
  const { referrer, reason, currentConfigWrite, desiredConfigWrite } = node;
  const created = named && cluster.createdAt?.get(named);
  const changes = [created, currentConfigWrite?.at, desiredConfigWrite?.at];
  const since = findLatest(changes) ?? cluster.poolOf(node).pool?.conditions['NodeDegraded']?.since;
  const isNamed = NODE_FIELDS.some((field) => node[field] === named);
  const why = isNamed || named === undefined ? RETRY : `${RETRY}. ${UPDATE}`;
  const waiting = isStalled(since, cluster)
    ? cannotWait(`It has not recovered since ${toSeconds(since)}, so read the log of its machine-config-daemon`)
    : canWait(why);
  return { code: 'Recovering', referrer, evidence: quote(reason), waiting };
}

/** The daemon compares the disk with the config before each update, and overwrites no difference. */
function judgeDisk(
  node: InspectedNode,
  { comparedWith, difference }: DaemonReason & { readonly type: 'diskDiffers' },
  isOutdated: boolean,
  cluster: Cluster,
): AnnotatedByHand | DiskDiffers | Recovering {
  const { referrer, currentConfig: current, desiredConfig: desired, currentConfigWrite, desiredConfigWrite } = node;
  const cause = { referrer, evidence: quote(node.reason) } as const;
  const changedAt = findLatest([currentConfigWrite?.at, desiredConfigWrite?.at]);
  const isRecent = changedAt !== undefined && !isOlderThan(SELF_REPAIR_MINUTES, changedAt, cluster.now);

  const isOtherConfig = comparedWith !== current && comparedWith !== desired && isRenderedName(comparedWith);
  // The annotations of a node that has reached its pool's config are those of its daemon.
  const isManual =
    currentConfigWrite !== undefined &&
    MANUAL_MANAGER.test(currentConfigWrite.manager) &&
    current !== undefined &&
    current === desired &&
    current === cluster.poolOf(node).pool?.specConfig;
  if (isRecent && (isOtherConfig || isManual)) {
    const why = `The annotations have just changed. ${RETRY}, and most disks then need no repair`;
    return { ...cause, code: 'Recovering', waiting: canWait(why) };
  }
  if (isManual && !isOtherConfig) {
    const { manager: by, at: since } = currentConfigWrite;
    const waiting = cannotWait('The daemon compares the disk with the annotation, and overwrites no difference');
    return { ...cause, code: 'AnnotatedByHand', config: current, by: quote(by), since, waiting };
  }
  return {
    ...cause,
    code: 'DiskDiffers',
    comparedWith: comparedWith ?? current ?? '',
    difference,
    isAtRest: current === desired || isOutdated,
    waiting: cannotWait('The daemon overwrites no difference'),
  };
}

/** In image mode the daemon compares the disk with an image. */
function isRenderedName(name: string | undefined): boolean {
  return name !== undefined && parsePoolName(toConfigName(name)) !== undefined;
}

/** The desired config exists, but its pool does not want it any more. */
function findOutdatedDesired(node: InspectedNode, cluster: Cluster): DesiredOutdated | undefined {
  const { referrer, currentConfig: current, desiredConfig: config, cordon, desiredConfigWrite } = node;
  const { pool } = cluster.poolOf(node);
  if (pool === undefined || current === undefined || config === undefined || config === current) return undefined;
  const wanted = [pool.specConfig, pool.statusConfig];
  if (wanted.includes(config) || wanted.every((name) => name === undefined)) return undefined;

  const existing = [current, ...wanted].find((name) => name !== undefined && cluster.configs.has(name));
  const isCordoned = cordon !== undefined && hasFailed(node);
  const cause = { code: 'DesiredOutdated', referrer, field: 'desiredConfig', config, isCordoned } as const;
  if (isCordoned && !pool.paused) {
    // Otherwise the operator sets desiredConfig back itself (getAllCandidateMachines in node_controller.go).
    return {
      ...cause,
      replacement: undefined,
      waiting: cannotWait('The operator skips the node, because it is cordoned'),
    };
  }
  if (hasFailed(node) && !pool.paused && !isStalled(desiredConfigWrite?.at, cluster)) {
    return { ...cause, replacement: undefined, waiting: canWait('The operator sets it back within a minute') };
  }
  const isWrongPool = isForeignToControlPlane(config, pool);
  if (!hasFailed(node) && !isWrongPool && !isStalled(desiredConfigWrite?.at, cluster)) return undefined;
  const why = pool.paused ? 'The pool is paused' : 'The operator does not stop an update that has begun';
  return { ...cause, replacement: existing, waiting: cannotWait(why) };
}

/** A node between `worker` and a custom pool is normal. Between a pool of the control plane and another it is not. */
function isForeignToControlPlane(config: ConfigName, { referrer }: InspectedPool): boolean {
  const poolOfConfig = parsePoolName(config);
  return poolOfConfig !== referrer.name && [poolOfConfig, referrer.name].some(isPoolOfControlPlane);
}

function findBlockedDrain(node: InspectedNode, cluster: Cluster): DrainBlocked | undefined {
  const { referrer, drain, reason } = node;
  const since = drain?.since;
  // After an hour without success, the daemon gives up, is Degraded, and asks again (pkg/daemon/drain.go).
  const hasGivenUp = node.daemonReason.type === 'drainFailed' && hasFailed(node);
  const obstacles = cluster.drainObstacles?.get(referrer.name) ?? { budgets: [], endingPods: [] };
  const isBlocked = drain !== undefined && obstacles.budgets.length > 0;
  if (!hasGivenUp && !isBlocked && !isOlderThan(MAX_DRAIN_MINUTES, since, cluster.now)) return undefined;
  const why = 'The operator repeats the drain every few minutes, and it succeeds once all pods can be evicted';
  return {
    code: 'DrainBlocked',
    referrer,
    since,
    obstacles,
    evidence: hasGivenUp ? quote(reason) : undefined,
    waiting: hasGivenUp ? cannotWait(why) : canWait(why),
  };
}

/** A daemon that does not run, or hangs, reports nothing. */
function findStalledUpdate(node: InspectedNode, cluster: Cluster): UpdateStalled | undefined {
  const { referrer, currentConfig, desiredConfig: config, state, movedAt, desiredConfigWrite } = node;
  const hasUpdate = config !== currentConfig || !IDLE_STATES.has(state);
  const since = movedAt ?? desiredConfigWrite?.at;
  if (config === undefined || currentConfig === undefined || !hasUpdate || !isStalled(since, cluster)) return undefined;
  const waiting = cannotWait(`Its machine-config-daemon has reported nothing since ${toSeconds(since)}`);
  return { code: 'UpdateStalled', referrer, config, state: quote(state), waiting };
}

function findPendingCertificate(
  { referrer, readiness }: InspectedNode,
  cluster: Cluster,
): CertificatePending | undefined {
  if (readiness === undefined || readiness.isReady) return undefined;
  const requests = (cluster.pendingRequests ?? []).filter(({ node }) => node === referrer.name);
  if (requests.length === 0) return undefined;
  const times = requests.map(({ createdAt }) => new Date(createdAt ?? Number.NaN));
  const waiting = times.some((time) => isStalled(time, cluster))
    ? cannotWait('Nobody has approved it for an hour')
    : canWait('Some platforms approve it themselves');
  const names = requests.map(({ name }) => name);
  return { code: 'CertificatePending', referrer, since: readiness.since, requests: names, waiting };
}

/** Why the operator counts a node as unavailable, and starts no update in its pool (pkg/controller/node/status.go). */
function findUnavailability(node: InspectedNode, cluster: Cluster): Cause | undefined {
  const { referrer, readiness, cordon } = node;
  const isDown = readiness?.isReady === false;
  const { pool } = cluster.poolOf(node);
  // The controller cordons a node for its update, and uncordons it afterwards. A node reboots in its update.
  const isUpdating = node.desiredConfig !== node.currentConfig || hasFailed(node) || node.state === 'Working';
  const isAwaited = !isUpdating && pool !== undefined && !pool.paused && cluster.isRollingOut(pool);

  if (isDown && (isAwaited || findLostSince(node, cluster) !== undefined)) {
    const since = readiness.since;
    const waiting = isStalled(since, cluster)
      ? cannotWait('Its kubelet must answer again, or the node must be deleted')
      : canWait('A reboot can take this long');
    return { code: 'NodeNotReady', referrer, since, evidence: quote(readiness.message), waiting };
  }

  if (!isAwaited) return undefined;
  const write = cordon?.write;
  const isOfOperator = write?.manager === OPERATOR_MANAGER;
  if (cordon !== undefined && !(isOfOperator && !isOlderThan(MAX_DRAIN_MINUTES, write.at, cluster.now))) {
    return {
      code: 'NodeCordoned',
      referrer,
      by: write && quote(write.manager),
      isByProgram: write !== undefined && !isOfOperator && !MANUAL_MANAGER.test(write.manager),
      since: write?.at,
      waiting: cannotWait('The operator updates no cordoned node, and counts it as unavailable'),
    };
  }
  const pressure = cluster.pressures?.get(referrer.name);
  if (pressure === undefined) return undefined;
  return {
    code: 'NodeUnavailable',
    referrer,
    condition: pressure.type,
    since: pressure.since,
    evidence: quote(pressure.message),
    waiting: isStalled(pressure.since, cluster)
      ? cannotWait('The operator updates no such node, and counts it as unavailable')
      : canWait('The kubelet can still end it'),
  };
}
