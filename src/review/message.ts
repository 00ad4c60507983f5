import { type NamedReference, REFERRER_KINDS, REFERRER_NOUNS } from '../mco/referrer.ts';
import type { Hold } from './hold.ts';
import { groupBy } from '../common/group-by.ts';
import { countNoun, joinWithAnd, toPrintableLine } from '../common/printable-text.ts';
import { toSeconds } from '../common/duration.ts';
import { ALLOW_DELETION_ANNOTATION } from '../api/annotations.ts';
import { type Code, formatHelpNote } from '../api/codes.ts';
import { type ConfigName, formatName } from '../mco/machine-config.ts';
import type { ReferenceGroup, ReferenceSummary } from '../mco/reference-summary.ts';
import type { UnreadableKind } from '../references/cluster-state.ts';

/** The audit annotation lists more names. */
const MAX_NAMES_PER_KIND = 3;
/** The limit for one Warning header that Kubernetes recommends ("Dynamic Admission Control"). */
const MAX_WARNING_LENGTH = 120;

export function explainInUse(name: ConfigName, summary: ReferenceSummary, hasEmptyOverride: boolean): string {
  return formatDenial('MCG_IN_USE', [
    `${formatName(name)} is in use by ${formatReferrers(summary.strong)}.`,
    ...formatConsequence(summary),
    hasEmptyOverride ? 'Its allow-deletion annotation has no reason, so it is ignored.' : '',
  ]);
}

/** Returns the effect of a deletion, and when it becomes possible. */
function formatConsequence({ strong, isPoolDeleted, stuckNode }: ReferenceSummary): readonly [string, string] {
  const nodeCount = strong.referrersByKind.Node;
  const nodeAndPoolCount = nodeCount + strong.referrersByKind.MachineConfigPool;
  if (nodeAndPoolCount === 0) return ['Deleting it would make the build fail.', 'Delete it once the build has ended.'];
  const [objectPhrase, subjectPhrase] =
    nodeAndPoolCount > 1
      ? ['them', 'they have']
      : nodeCount > 0
        ? ['the node', 'the node has']
        : ['the pool', 'the pool has'];
  // A published runbook deletes rendered configs to force a render.
  const isSpec = strong.references.some(({ kind, field }) => kind === 'MachineConfigPool' && field === 'spec');
  const noRender = isSpec ? ', and would not force a new render' : '';
  const result = `Deleting it would leave ${objectPhrase} Degraded${noRender}.`;
  if (stuckNode !== undefined) return [result, formatWayIntoPool(stuckNode)];
  if (nodeCount === 0 || !isPoolDeleted) return [result, `Delete it once ${subjectPhrase} moved on to another config.`];
  const [nodePhrase, pronounPhrase] = nodeCount > 1 ? ['the nodes', 'they have'] : ['the node', 'it has'];
  // Seen with the real operator: without a change of a label it moves no node of a deleted pool.
  const advice = [
    `Its pool is deleted: remove the pool's label from ${nodePhrase},`,
    'or change another label if it is gone already, because only then the operator moves a node.',
    `Delete the config once ${pronounPhrase} moved to another one.`,
  ];
  return [result, advice.join(' ')];
}

function formatWayIntoPool({ name, conflictingPools = [] }: NonNullable<ReferenceSummary['stuckNode']>): string {
  const [place, label] =
    conflictingPools.length === 0
      ? ['in no pool', 'add the label of a pool']
      : [`in the custom pools ${joinWithAnd(conflictingPools.map(formatName))}`, 'keep the label of one'];
  const cause = `Node ${formatName(name)} is ${place}, so the operator does not move it: ${label}.`;
  return `${cause} Delete the config once the node has moved to another one.`;
}

export function explainHeld(name: ConfigName, hold: Hold): string {
  return formatDenial('MCG_HELD', [
    `${formatName(name)} is held until ${formatTime(hold.until)}: ${explainHold(hold)}.`,
    `Delete it after that time, or give a reason in its annotation ${ALLOW_DELETION_ANNOTATION}.`,
  ]);
}

export function explainHold({ cause, since, pool, node = '' }: Hold): string {
  const time = formatTime(since);
  if (cause === 'NodeUnreported') {
    return `node ${formatName(node)}, which may be booting with it, has not reported its config`;
  }
  const poolName = `pool ${formatName(pool)}`;
  const sentences = {
    ConfigCreated: `it was created at ${time}`,
    PoolChanged: `${poolName} last changed at ${time}`,
    PoolNamed: `${poolName} last named it at ${time}`,
    PoolUndated: `nothing dates the last change of ${poolName}`,
    PoolWatched: `the guard has watched ${poolName} only since ${time}`,
  };
  return `${sentences[cause]}, and a machine may be booting with it`;
}

/** RFC 3339 in whole seconds, rounded up. */
export function formatTime(time: Date): string {
  return toSeconds(new Date(Math.ceil(time.getTime() / 1_000) * 1_000));
}

/** Does not state that the config is in use, because that is unknown. */
export function explainUnverified(name: ConfigName | undefined, unreadable: readonly UnreadableKind[]): string {
  const causes = unreadable.map((kind) => `${kind.name}: ${toPrintableLine(kind.reason, 160)}`);
  const config = name === undefined ? 'the config' : formatName(name);
  return formatDenial('MCG_UNVERIFIED', [
    `could not verify whether ${config} is in use (${joinWithAnd(causes)}).`,
    'Nothing was deleted. Retry.',
    "If it persists, check the guard's logs, its RBAC and its connection to the API server.",
  ]);
}

export function explainBadReview(problem: string): string {
  return formatDenial('MCG_BAD_REVIEW', [`${toPrintableLine(problem, 300)}.`]);
}

export function formatWarnings(name: ConfigName, { weak, unreportedNodes }: ReferenceSummary): string[] {
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
  return joinWithAnd(
    kinds.map((kind) => {
      const ofKind = references.filter((reference) => reference.kind === kind);
      return formatKind(REFERRER_NOUNS[kind], referrersByKind[kind], [...groupBy(ofKind, ({ name }) => name)]);
    }),
  );
}

function formatKind(noun: string, count: number, referrers: readonly [name: string, NamedReference[]][]): string {
  const [separator, start, end] = count === 1 ? [', ', '(', ')'] : ['+', '', ''];
  const texts = referrers.slice(0, MAX_NAMES_PER_KIND).map(([name, references]) => {
    return `${formatName(name)} ${start}${references.map(({ field }) => field).join(separator)}${end}`;
  });
  if (count === 1) return `${noun} ${texts.join('')}`;
  const more = count - texts.length;
  return `${countNoun(count, noun)} (${texts.join(', ')}${more > 0 ? ` and ${more} more` : ''})`;
}

export function formatWarning(text: string): string {
  return toPrintableLine(text, MAX_WARNING_LENGTH);
}

function formatDenial(code: Code, sentences: readonly string[]): string {
  return `${code}: ${sentences.filter(Boolean).join(' ')} ${formatHelpNote(code)}`;
}
