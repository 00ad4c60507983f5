import type { Cause, CauseCode, ConfigMissing, MissingConfigReport } from './cause.ts';
import {
  approveMachine,
  approveRequest,
  getRule,
  listRepairs,
  nameMachine,
  remindOfPause,
  removeRestoreMark,
} from './cause-rules.ts';
import { type Cluster, createCluster, type DiagnosisScope, isRebooting, listOldRequests } from './cluster.ts';
import { findClusterCauses, findOperatorFailure } from './cluster-causes.ts';
import {
  type ClusterSnapshot,
  type InspectedNode,
  type InspectedPool,
  isForClient,
  listReferrers,
} from './cluster-snapshot.ts';
import { findNodeCauses } from './node-causes.ts';
import { findPoolCauses } from './pool-causes.ts';
import { findFailedSources } from './rejected-objects.ts';
import { holdBack, type PlannedRepair, planRepairs } from './repair.ts';
import { type ConfigName, isRenderedConfig } from '../mco/machine-config.ts';
import { matchesNodeSelector } from '../mco/pool-of-node.ts';
import { findUsedConfigs, type Referrer, REFERRER_NOUNS, type ReferrerKind } from '../mco/referrer.ts';

// The interfaces below are parts of the JSON of `check`. Their keys are a contract. Unknown values are null.

/** One object that has a cause. */
export interface Problem extends MissingConfigReport {
  readonly code: CauseCode;
  /** The object that does not move. Null for the whole cluster. */
  readonly kind: ReferrerKind | null;
  readonly name: string | null;
  /** Such as `currentConfig`, `spec` or `machineConfig`. Null if the cause is about no single field. */
  readonly field: string | null;
  readonly config: ConfigName | null;
  /** Whether the operator or the node can end the problem without a person. */
  readonly recoverable: boolean;
  /** Why waiting can help, and for how long, or why it cannot. */
  readonly recoverableReason: string;
  /** The condition or the reason that decided, quoted. */
  readonly evidence: string | null;
  /** The existing config with the nearest name to a missing one. */
  readonly suggestion: ConfigName | null;
  /** A whole sentence without a period. */
  readonly message: string;
}

export interface CheckedNode {
  readonly name: string;
  /** Whether the node has no problem. */
  readonly ok: boolean;
  /** Null if no pool, or more than one custom pool, selects the node. */
  readonly pool: string | null;
  /** The custom pools between which the operator does not choose. */
  readonly conflictingPools: readonly string[];
  readonly currentConfig: ConfigName | null;
  readonly desiredConfig: ConfigName | null;
  /** Whether the condition `Ready` is True. Null without the condition. */
  readonly ready: boolean | null;
  readonly cordoned: boolean;
  /** As the machine-config-daemon reports it, such as `Done`. Empty before. */
  readonly state: string;
  readonly reason: string;
}

export interface CheckedPool {
  readonly name: string;
  /** Whether the pool has no problem. */
  readonly ok: boolean;
  readonly specConfig: ConfigName | null;
  readonly statusConfig: ConfigName | null;
  /** Whether a machine has not reached the config, or the OS image, of the pool. A paused pool updates none. */
  readonly updating: boolean;
  readonly paused: boolean;
  /** RFC 3339. */
  readonly pausedSince: string | null;
  /** The config whose restore has paused the pool. */
  readonly pausedFor: string | null;
  readonly terminating: boolean;
  readonly machineCount: number;
  readonly updatedMachineCount: number;
  readonly degradedMachineCount: number;
}

export interface Diagnosis {
  readonly ok: boolean;
  /** Whether waiting can end every problem. False if there is none. */
  readonly recoverable: boolean;
  readonly nodes: readonly CheckedNode[];
  /** The names of nodes that the operator does not manage. */
  readonly skippedNodes: readonly string[];
  readonly pools: readonly CheckedPool[];
  /** The configs in use that any client may delete, because of their allow-deletion annotation. */
  readonly overriddenConfigs: readonly ConfigName[];
  /** The names of the source MachineConfigs that no pool selects. They have no effect. */
  readonly unselectedSources: readonly string[];
  /** The resources that the user may not read, such as `machineosbuilds`. Causes that need them are not found. */
  readonly unreadable: readonly string[];
  readonly problems: readonly Problem[];
  /** What to do, the best first. */
  readonly repairs: readonly PlannedRepair[];
}

/** A diagnosis, and the causes that its text explains. */
interface DiagnosisResult extends Diagnosis {
  readonly causes: readonly Cause[];
}

/** The host name of a machine that got none in 5 minutes (machine-config-operator, templates, mco-hostname). */
const LOCALHOST = /^localhost(?:\.|$)/;

/** Finds why nodes and pools do not move. Pure: everything comes from the arguments. */
export function diagnose(snapshot: ClusterSnapshot, scope: DiagnosisScope): DiagnosisResult {
  const causesByNode = new Map<InspectedNode, readonly Cause[]>();
  const cluster = createCluster(snapshot, scope, causesByNode);
  const ofCluster = findClusterCauses(cluster);
  for (const node of snapshot.nodes) causesByNode.set(node, findNodeCauses(node, cluster));

  const selectedPools = selectPools(cluster);
  const causesByPool = new Map(
    selectedPools.map((pool) => [pool, pool.isTerminating === true ? [] : findPoolCauses(pool, cluster)]),
  );
  const others = [...[...causesByNode.values()].flat(), ...[...causesByPool.values()].flat()];
  const withoutEffect = findFailedSources(undefined, cluster);
  const causes = [...ofCluster, ...findOperatorFailure(others, cluster), ...others, ...withoutEffect];

  const used = findUsedConfigs(listReferrers(snapshot));
  const returning = findReturningNodes(cluster, causesByNode);
  return {
    ok: causes.length === 0,
    recoverable: causes.length > 0 && causes.every(({ waiting }) => waiting.helps),
    nodes: snapshot.nodes.map((node) => describeNode(node, cluster, causesByNode.get(node)?.length === 0)),
    skippedNodes: snapshot.skippedNodes ?? [],
    pools: selectedPools.map((pool) => describePool(pool, cluster, causesByPool.get(pool)?.length === 0)),
    overriddenConfigs: (snapshot.overriddenConfigs ?? []).filter((name) => used.has(name) && isRenderedConfig(name)),
    unselectedSources: findUnselectedSources(snapshot),
    unreadable: snapshot.unreadable ?? [],
    problems: causes.map(toProblem),
    causes,
    repairs: planRepairs([
      ...causes.flatMap((cause) => listRepairs(cause).map((each) => holdBack(each, returning.get(cause.referrer)))),
      ...approveMissingMachines(causes, cluster),
      ...selectedPools.flatMap(removeRestoreMark),
      ...(causes.length === 0 ? selectedPools.filter(cluster.isRollingOut).flatMap(remindOfPause) : []),
    ]),
  };
}

/** For each node, the name of one in its pool that restarts or updates, and that needs no person. */
function findReturningNodes(
  cluster: Cluster,
  causesByNode: ReadonlyMap<InspectedNode, readonly Cause[]>,
): ReadonlyMap<Referrer | undefined, string> {
  const isReturning = (node: InspectedNode): boolean => {
    const own = causesByNode.get(node) ?? [];
    const isUpdating = ['Working', 'Rebooting'].includes(node.daemonState);
    // A daemon that updates a Degraded node says Degraded until it is Done (pkg/daemon/update.go).
    const isRecovering = own.some(({ code }) => code === 'Recovering');
    return isRebooting(node, cluster) || ((isUpdating || isRecovering) && own.every(({ waiting }) => waiting.helps));
  };
  const pairs = cluster.livePools.flatMap((pool) => {
    const nodes = cluster.nodesOf(pool);
    const found = nodes.find(isReturning);
    return found === undefined ? [] : nodes.map((node) => [node, found.name] as const);
  });
  return new Map(pairs);
}

/** Without pools, the operator has not created them yet. */
function findUnselectedSources({ sources = [], pools }: ClusterSnapshot): readonly string[] {
  const rendered = new Set(pools.flatMap((pool) => pool.sources));
  const unselected = sources.filter(
    ({ name, labels }) =>
      !rendered.has(name) && !pools.some((pool) => matchesNodeSelector(pool.machineConfigSelector, labels)),
  );
  return pools.length === 0 ? [] : unselected.map(({ name }) => name);
}

/** With a selection of nodes, only the pools that select one of them. */
function selectPools({ pools, nodes, selector, poolOf }: Cluster): readonly InspectedPool[] {
  if (selector === undefined) return pools;
  const selecting = new Set(nodes.flatMap((node) => poolOf(node).selecting));
  return pools.filter((pool) => selecting.has(pool));
}

/**
 * A machine that waits for its certificate is often a part of the problem. A node that is ready needs none for its
 * identity, so such a request comes from another machine.
 */
function approveMissingMachines(causes: readonly Cause[], cluster: Cluster) {
  const { nodes, pendingRequests = [] } = cluster;
  const isWanted = causes.some(({ code, waiting }) => code === 'TooFewNodes' || !waiting.helps);
  const isUrgent = isWanted || listOldRequests(cluster).length > 0;
  const known = new Map(nodes.map((node) => [node.name, node.readiness?.isReady === true]));
  return pendingRequests.flatMap((request) => {
    const { name, node } = request;
    const isReady = known.get(node ?? '');
    // The kubelet of a node asks for the certificate of its server right after the approval of its first request.
    if (!isUrgent && (isForClient(request) || isReady !== true)) return [];
    if (LOCALHOST.test(node ?? '')) return [nameMachine(node)];
    if (!isForClient(request)) return [approveRequest(name)];
    if (isReady === true) return [];
    return [isReady === undefined ? approveMachine(name, node) : approveRequest(name)];
  });
}

function toProblem(cause: Cause): Problem {
  const { code, referrer, field = null, config = null, waiting, evidence = null } = cause;
  const {
    suggestion = null,
    explanation = null,
    deletedAt = null,
    deletedBy = null,
    deletionReason = null,
  }: Partial<ConfigMissing> = cause.code === 'ConfigMissing' ? cause : {};
  const place = config === null || field === null ? '' : ` (${field})`;
  const subject = referrer === undefined ? '' : `${REFERRER_NOUNS[referrer.kind]} ${referrer.name}${place}`;
  return {
    code,
    kind: referrer?.kind ?? null,
    name: referrer?.name ?? null,
    field,
    config,
    recoverable: waiting.helps,
    recoverableReason: waiting.why,
    evidence,
    suggestion,
    explanation,
    deletedAt,
    deletedBy,
    deletionReason,
    message: getRule(cause).sentence(cause, subject, false),
  };
}

function describeNode(node: InspectedNode, { poolOf }: Cluster, ok: boolean): CheckedNode {
  const { name, currentConfig = null, desiredConfig = null, daemonState, reason, readiness, cordon } = node;
  const { pool, conflicting } = poolOf(node);
  return {
    name,
    ok,
    pool: pool?.name ?? null,
    conflictingPools: conflicting.map((each) => each.name),
    currentConfig,
    desiredConfig,
    ready: readiness?.isReady ?? null,
    cordoned: cordon !== undefined,
    state: daemonState,
    reason,
  };
}

function describePool(pool: InspectedPool, { isRollingOut }: Cluster, ok: boolean): CheckedPool {
  const { name, specConfig = null, statusConfig = null, paused, pause, pausedFor = null, isTerminating } = pool;
  const { machineCount, updatedMachineCount, degradedMachineCount } = pool;
  return {
    name,
    ok,
    specConfig,
    statusConfig,
    updating: isRollingOut(pool),
    paused,
    pausedSince: pause?.at.toISOString() ?? null,
    pausedFor,
    terminating: isTerminating === true,
    machineCount,
    updatedMachineCount,
    degradedMachineCount,
  };
}
