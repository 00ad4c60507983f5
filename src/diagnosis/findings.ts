import { countNoun, joinFirst, joinWithAnd, toPrintableLine } from '../common/printable-text.ts';
import { toSeconds } from '../common/duration.ts';
import {
  findReferencedConfig,
  NODE_FIELDS,
  type NodeReferrer,
  type PoolReferrer,
  REASON_FIELD,
} from '../mco/referrer.ts';
import { CONTROL_PLANE_POOL, findJoinedNodes, type InspectedNode, type InspectedPool } from './cluster-snapshot.ts';
import { findDanglingReferences, judgeEmptyStatus } from './dangling-references.ts';
import type { Cluster, Finding, Problem, Recovery } from './problem.ts';
import { type ConfigName, formatName, parsePoolName } from '../mco/machine-config.ts';

/** Without a change in this time, the operator makes no progress. */
const STALLED_MINUTES = 60;
const MAX_QUOTE = 300;
const MAX_NAMES = 3;
/** States of a node whose update has failed (machine-config-operator, pkg/daemon/constants). */
export const FAILED_STATES: ReadonlySet<string> = new Set(['Degraded', 'Unreconcilable']);
const RETRY = 'The machine-config-daemon tries again';
const NO_SPEC = "No pool's spec names it, so waiting does not help";

function yes(recoverableReason: string): Recovery {
  return { recoverable: true, recoverableReason, evidence: null };
}

export function no(recoverableReason: string, evidence: string | null = null): Recovery {
  return { recoverable: false, recoverableReason, evidence };
}

export function quote(text: string): string {
  return toPrintableLine(text, MAX_QUOTE);
}

export function isMissingForever({ code, recoverable }: Problem): boolean {
  return code === 'ConfigMissing' && !recoverable;
}

/** Finds missing configs, or else those that are being deleted. The node reports the reason. */
export function findMissing(
  referrer: NodeReferrer | PoolReferrer,
  cluster: Cluster,
  areTerminating: boolean,
  reason = '',
): Finding[] {
  return findDanglingReferences([referrer], cluster.configs).flatMap(({ field, config }) => {
    if (cluster.terminatingConfigs.has(config) !== areTerminating) return [];
    const recovery = judgeRendering(config, cluster);
    const evidence = recovery.evidence ?? (reason.includes(config) ? quote(reason) : null);
    const finding = { config, field, ...recovery, evidence };
    // Once a terminating config is gone, the operator may render it again.
    if (areTerminating) return [finding];
    return [{ suggestion: cluster.findNearest(config) ?? null, ...finding, ...cluster.guardReports?.get(config) }];
  });
}

/** The operator renders the config in the spec of a pool, and the first config of a new pool. */
function judgeRendering(config: ConfigName, { livePools, livePoolByName, livePoolsBySpec, now }: Cluster): Recovery {
  const poolName = parsePoolName(config);
  const own = livePoolByName.get(poolName);
  // Early in an install nodes have configs of the bootstrap, but no pool exists or has a spec.
  if (own === undefined && poolName !== undefined && livePools.length === 0) return judgeRenderer(undefined, now);
  const naming = livePoolsBySpec.get(config) ?? [];
  const isFirst = own !== undefined && findReferencedConfig(own.referrer, 'spec') === undefined;
  const able = naming.find(({ conditions }) => conditions.RenderDegraded === undefined) ?? naming[0];
  if (able === undefined && !isFirst) return no(NO_SPEC);
  return judgeRenderer(able ?? own, now);
}

export function judgeRenderer(pool: InspectedPool | undefined, now: Date): Recovery {
  const { RenderDegraded, NodeDegraded } = pool?.conditions ?? {};
  if (RenderDegraded !== undefined) {
    const evidence = quote(RenderDegraded.message);
    return no(`The operator cannot render it: "${evidence}"`, evidence);
  }
  const since = NodeDegraded?.since;
  if (isStalled(since, now)) return no(`The operator has not rendered it since ${toSeconds(since)}`);
  return yes('The Machine Config Operator can still render it');
}

function isStalled(since: Date | undefined, now: Date): since is Date {
  return since !== undefined && now.getTime() - since.getTime() > STALLED_MINUTES * 60_000;
}

export function findUnreported({ referrer }: InspectedNode, { now }: Cluster): Finding[] {
  const { state } = referrer;
  const createdAt = state.type === 'unreported' ? state.createdAt : undefined;
  const recovery = isStalled(createdAt, now)
    ? no(`It has existed since ${toSeconds(createdAt)}, so read the log of its machine-config-daemon`)
    : yes('The machine-config-daemon reports it when it starts');
  const fields = NODE_FIELDS.filter((field) => findReferencedConfig(referrer, field) === undefined);
  return fields.length === NODE_FIELDS.length ? [recovery] : fields.flatMap((field) => [{ ...recovery, field }]);
}

export function findConflict(node: InspectedNode, { poolOf }: Cluster): Finding[] {
  const names = poolOf(node).conflicting.map(({ referrer }) => formatName(referrer.name));
  const evidence = `custom pools ${joinWithAnd(names)}`;
  return names.length === 0 ? [] : [no('The operator accepts one, and does not update the node', evidence)];
}

export function findDegradedNode(node: InspectedNode, cluster: Cluster): Finding[] {
  const { referrer, state, reason } = node;
  if (!FAILED_STATES.has(state) || findDanglingReferences([referrer], cluster.configs).length > 0) return [];
  const evidence = quote(reason);
  const since = cluster.poolOf(node).pool?.conditions.NodeDegraded?.since;
  if (isReasonOld(node, cluster))
    return [{ ...yes(`${RETRY} within some minutes; if the reason stays, read its log`), evidence }];
  if (isOnDisk(node))
    return [no('The disk differs from the config, and the daemon overwrites no difference', evidence)];
  if (state === 'Unreconcilable') return [no('The daemon cannot make this change, so undo it in its source', evidence)];
  if (isStalled(since, cluster.now)) return [no(`${RETRY} since ${toSeconds(since)} without success`, evidence)];
  return [{ ...yes(RETRY), evidence }];
}

/**
 * Whether the reason is from before a repair of the last hour: it names a config that the node no longer names. The
 * daemon validates the disk against `currentConfig` (machine-config-operator, pkg/daemon/daemon.go).
 */
function isReasonOld({ referrer, state, namedAt }: InspectedNode, { createdAt, now }: Cluster): boolean {
  const named = findReferencedConfig(referrer, REASON_FIELD);
  if (state !== 'Degraded' || named === undefined || isStalled(findLatest([namedAt, createdAt?.get(named)]), now)) {
    return false;
  }
  return NODE_FIELDS.every((field) => ![named, undefined].includes(findReferencedConfig(referrer, field)));
}

function findLatest(times: readonly (Date | undefined)[]): Date | undefined {
  const known = times.flatMap((time) => (time === undefined ? [] : [time.getTime()]));
  return known.length === 0 ? undefined : new Date(Math.max(...known));
}

/** The daemon compares the disk with the config before an update (machine-config-operator, pkg/daemon/daemon.go). */
export function isOnDisk({ reason }: InspectedNode): boolean {
  return reason.includes('unexpected on-disk state');
}

export function findEmptyStatus(
  code: 'StatusEmpty' | 'RolloutUnfinished',
  pool: InspectedPool,
  cluster: Cluster,
): Finding[] {
  const hasDanglingNode = cluster.poolsWithDanglingNode.has(pool.referrer.name);
  if (judgeEmptyStatus(pool.referrer, hasDanglingNode, cluster.now) !== code) return [];
  return [{ ...judgeRollout(pool, cluster), field: 'status' }];
}

/** The operator sets the status when all machines of the pool run the config in the spec. */
function judgeRollout(pool: InspectedPool, cluster: Cluster): Recovery {
  const { referrer, paused, pausedSince, conditions, machineCount, degradedMachineCount } = pool;
  if (conditions.RenderDegraded !== undefined) return judgeRenderer(pool, cluster.now);
  if (cluster.problemsOfNodes(pool).some(isMissingForever)) {
    return no('The operator sets it when all machines are updated, and one whose config is missing cannot be');
  }
  if (paused) return no(`The pool is paused${pausedSince ? ` since ${toSeconds(pausedSince)}` : ''}`);
  const nodes = cluster.nodesOf(pool);
  const isEachDegraded = nodes.length > 0 && nodes.every(({ state }) => state === 'Degraded');
  if (isEachDegraded || (machineCount > 0 && machineCount === degradedMachineCount)) {
    return no('Every machine of the pool is Degraded, so the operator updates none');
  }
  const lastChange = findLatest([referrer.specChangedAt, referrer.statusChangedAt, referrer.updatedChangedAt]);
  if (isStalled(lastChange, cluster.now)) return no(`Nothing in the pool has changed since ${toSeconds(lastChange)}`);
  return yes('The operator sets the field when all machines of the pool run the config in its spec');
}

export function findDegradedPool(pool: InspectedPool, cluster: Cluster): Finding[] {
  const { Degraded, NodeDegraded, RenderDegraded } = pool.conditions;
  const cause = RenderDegraded ?? NodeDegraded ?? Degraded;
  if (cause === undefined) return [];
  const problems = cluster.problemsOfNodes(pool);
  // The problems of its nodes say the same.
  const isExplained = RenderDegraded === undefined && problems.length > 0;
  const evidence = isExplained ? null : quote(cause.message);
  const isRetried = cluster.nodesOf(pool).some((node) => isReasonOld(node, cluster));
  if (!isRetried && isStalled(cause.since, cluster.now))
    return [no(`It has been since ${toSeconds(cause.since)}`, evidence)];
  const isStuck = problems.some(({ recoverable }) => !recoverable);
  return [{ ...(isStuck ? no('Solve the problems of its nodes') : yes('The operator tries again')), evidence }];
}

/** Only some platforms approve the certificate requests of machines themselves. */
export function findTooFewNodes(cluster: Cluster): Finding[] {
  const { pendingRequests = [], now } = cluster;
  const evidence = describeTooFewNodes(cluster);
  if (evidence === undefined) return [];
  const old = pendingRequests.filter(({ createdAt }) => isStalled(new Date(createdAt ?? Number.NaN), now));
  if (old.length === 0) return [{ ...yes('More machines can join'), evidence }];
  const names = old.map(({ name }) => name);
  return [no(`Nobody has approved ${joinFirst(names, MAX_NAMES)} for an hour`, evidence)];
}

function describeTooFewNodes(cluster: Cluster): string | undefined {
  const { nodes, selector, minNodes, hasControlPlane, controlPlaneReplicas = 0 } = cluster;
  const selection = selector === undefined ? 'in the cluster' : `with label ${selector}`;
  if (nodes.length === 0) return `the Machine Config Operator manages no node ${selection}`;
  if (minNodes !== undefined) {
    const isEnough = nodes.length >= minNodes;
    return isEnough ? undefined : `only ${countNoun(nodes.length, 'node')} ${selection}, ${minNodes} are required`;
  }
  const joined = findJoinedNodes(CONTROL_PLANE_POOL, cluster).length;
  const isEnough = hasControlPlane !== true || joined >= controlPlaneReplicas;
  return isEnough ? undefined : `only ${joined} of the ${controlPlaneReplicas} control plane nodes have joined`;
}
