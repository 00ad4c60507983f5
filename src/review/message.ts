import { type NamedReference, type PoolReferrer, REFERRER_KINDS, REFERRER_NOUNS } from '../mco/referrer.ts';
import { countNoun, joinWithAnd, toPrintableLine } from '../common/printable-text.ts';
import { type ConfigName, formatName, parsePoolName } from '../mco/machine-config.ts';
import type { ClusterState, NotReadyNode, StuckNode, UnreadableKind } from '../references/cluster-state.ts';
import type { ReferenceGroup } from '../references/config-referrers.ts';
import { formatTime } from './hold.ts';

/** The audit annotation lists more names. */
const MAX_NAMES_PER_KIND = 3;
/** The limit for one Warning header that Kubernetes recommends ("Dynamic Admission Control"). */
const MAX_WARNING_LENGTH = 120;

/** Explains a denial because of strong references. */
export function explainInUse(name: ConfigName, state: ClusterState, hasEmptyOverride: boolean): string[] {
  const { strong } = state.references;
  const sentences = [`${formatName(name)} is in use by ${formatReferrers(strong)}.`];
  sentences.push(formatConsequence(strong), formatWayOut(name, state));
  if (hasEmptyOverride) sentences.push('Its allow-deletion annotation has no reason, so it is ignored.');
  return sentences;
}

/** How sentences speak of the referrers that would turn Degraded. */
interface Phrases {
  /** Such as `Deleting it would leave the node Degraded`. */
  readonly object: string;
  /** Such as `once the node has moved`. */
  readonly subject: string;
}

function toPhrases({ Node, MachineConfigPool }: ReferenceGroup['referrersByKind']): Phrases {
  if (Node + MachineConfigPool > 1) return { object: 'them', subject: 'they have' };
  if (Node === 1) return { object: 'the node', subject: 'the node has' };
  return { object: 'the pool', subject: 'the pool has' };
}

function isOnlyBuild({ Node, MachineConfigPool }: ReferenceGroup['referrersByKind']): boolean {
  return Node + MachineConfigPool === 0;
}

/** Returns the effect of a deletion. */
function formatConsequence(strong: ReferenceGroup): string {
  if (isOnlyBuild(strong.referrersByKind)) return 'Deleting it would make the build fail.';
  const { object } = toPhrases(strong.referrersByKind);
  // A published runbook deletes rendered configs to force a render.
  const isSpec = strong.references.some(({ kind, field }) => kind === 'MachineConfigPool' && field === 'spec');
  return `Deleting it would leave ${object} Degraded${isSpec ? ', and would not force a new render' : ''}.`;
}

/** Returns when the deletion becomes possible. */
function formatWayOut(name: ConfigName, state: ClusterState): string {
  const { pools, stuckNode, notReadyNode } = state;
  const { strong } = state.references;
  const nodeCount = strong.referrersByKind.Node;
  if (isOnlyBuild(strong.referrersByKind))
    return 'Delete it once the build has ended, or delete the build if nobody continues it.';
  if (notReadyNode !== undefined && isOnlyNode(strong)) return formatWayPastLostNode(notReadyNode, strong);
  if (stuckNode !== undefined) return formatWayIntoPool(stuckNode);
  if (nodeCount > 0 && isPoolDeleted(name, pools)) return formatWayOutOfDeletedPool(nodeCount > 1);
  return `Delete it once ${toPhrases(strong.referrersByKind).subject} moved on to another config.`;
}

/** Whether the pool of the config is being deleted, or does not exist. Early in an installation there are no pools. */
function isPoolDeleted(config: ConfigName, pools: readonly PoolReferrer[]): boolean {
  const pool = parsePoolName(config);
  if (pool === undefined || pools.length === 0) return false;
  return !pools.some(({ name, isTerminating }) => name === pool && isTerminating !== true);
}

/** Whether all depends on the nodes: a pool has its old config in its status until its nodes have moved. */
function isOnlyNode({ references, referrersByKind }: ReferenceGroup): boolean {
  const isWaitingPool = references.every(({ kind, field }) => kind !== 'MachineConfigPool' || field === 'status');
  return referrersByKind.MachineOSBuild === 0 && isWaitingPool;
}

/** Seen with the real operator: seconds after the deletion of the node, the status of its pool is right. */
function formatWayPastLostNode({ name, since }: NotReadyNode, { referrersByKind }: ReferenceGroup): string {
  const node = `a node that is NotReady since ${formatTime(since)}`;
  const isAlone = referrersByKind.MachineConfigPool === 0;
  const cause = isAlone ? `Only ${node} names it` : `Only ${node} and a pool that waits for its nodes name it`;
  return `${cause}. Repair the node, or if it is lost for good, delete it: oc delete node ${formatName(name)}.`;
}

/** Seen with the real operator: without a change of a label it moves no node of a deleted pool. */
function formatWayOutOfDeletedPool(hasSeveralNodes: boolean): string {
  return [
    `Its pool is deleted: remove the pool's label from ${hasSeveralNodes ? 'the nodes' : 'the node'},`,
    'or change another label if it is gone already, because only then the operator moves a node.',
    `Delete the config once ${hasSeveralNodes ? 'they have' : 'it has'} moved to another one.`,
  ].join(' ');
}

function formatWayIntoPool({ name, conflictingPools }: StuckNode): string {
  const isInNoPool = conflictingPools.length === 0;
  const place = isInNoPool ? 'in no pool' : `in the custom pools ${joinWithAnd(conflictingPools.map(formatName))}`;
  const label = isInNoPool ? 'add the label of a pool' : 'keep the label of one';
  const cause = `Node ${formatName(name)} is ${place}, so the operator does not move it: ${label}.`;
  return `${cause} Delete the config once the node has moved to another one.`;
}

/** Does not state that the config is in use, because that is unknown. */
export function explainUnverified(name: ConfigName | undefined, unreadable: readonly UnreadableKind[]): string[] {
  const causes = unreadable.map((kind) => `${kind.name}: ${toPrintableLine(kind.reason, 160)}`);
  const config = name === undefined ? 'the config' : formatName(name);
  const forbidden = unreadable.filter(({ isForbidden }) => isForbidden).map((kind) => kind.name);
  const wayOut =
    forbidden.length === 0
      ? ". Retry. If it persists, check the guard's logs, its RBAC and its connection to the API server."
      : `: the guard lacks the right to list ${joinWithAnd(forbidden)}. Apply its manifests again, then retry.`;
  return [`could not verify whether ${config} is in use (${joinWithAnd(causes)}).`, `Nothing was deleted${wayOut}`];
}

/** Returns what the client should know of a deletion that is allowed. */
export function formatWarnings(name: ConfigName, weak: ReferenceGroup, unreportedNodes: number): string[] {
  const warnings: string[] = [];
  // The name comes first: a long warning is cut at its end.
  if (weak.total > 0) warnings.push(formatWarning(`${name} is still referenced by ${formatReferrers(weak)}`));
  if (unreportedNodes > 0) {
    const have = unreportedNodes === 1 ? 'has' : 'have';
    warnings.push(formatWarning(`${countNoun(unreportedNodes, 'node')} ${have} not reported a configuration yet`));
  }
  return warnings;
}

/** `7 nodes (n1 currentConfig, n2 currentConfig, n3 desiredConfig and 4 more) and pool worker (spec)`. */
export function formatReferrers({ references, referrersByKind }: ReferenceGroup): string {
  const kinds = REFERRER_KINDS.filter((kind) => referrersByKind[kind] > 0);
  const texts = kinds.map((kind) => {
    const ofKind = references.filter((reference) => reference.kind === kind);
    return formatKind(REFERRER_NOUNS[kind], referrersByKind[kind], ofKind);
  });
  return joinWithAnd(texts);
}

function formatKind(noun: string, count: number, references: readonly NamedReference[]): string {
  const fieldsOf = (name: string) =>
    references.filter((reference) => reference.name === name).map(({ field }) => field);
  const names = [...new Set(references.map(({ name }) => name))].slice(0, MAX_NAMES_PER_KIND);
  if (count === 1) return names.map((name) => `${noun} ${formatName(name)} (${fieldsOf(name).join(', ')})`).join('');
  const texts = names.map((name) => `${formatName(name)} ${fieldsOf(name).join('+')}`);
  const more = count > names.length ? ` and ${count - names.length} more` : '';
  return `${countNoun(count, noun)} (${texts.join(', ')}${more})`;
}

export function formatWarning(text: string): string {
  return toPrintableLine(text, MAX_WARNING_LENGTH);
}
