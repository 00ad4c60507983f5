import { type Code, docsLink } from './codes.ts';
import type { ConfigName } from './config-name.ts';
import { countNoun, joinWithAnd, toPrintableLine } from './printable-text.ts';
import type { UnreadableSource, ReferenceSummary, ReferenceGroup, ReferrerKind } from './references.ts';

/** More names than this tell a person nothing new; the audit annotation carries more of them. */
const NAMES_PER_KIND = 3;
/** The API server's advice for one Warning header (kubernetes, "Dynamic Admission Control"). */
const WARNING_MAX = 120;
const NAME_MAX = 253;

const NOUNS: Readonly<Record<ReferrerKind, string>> = {
  Node: 'node',
  MachineConfigPool: 'pool',
  MachineOSBuild: 'build',
};

/** The refusal of a config that something uses: who uses it, what would happen, what to do. */
export function inUseMessage(name: ConfigName, users: ReferenceSummary, overrideWithoutReason: boolean): string {
  const groups = byKind(users.strong);
  return answer('MCG_IN_USE', [
    `${shown(name)} is in use by ${joinWithAnd(groups.map(told))}.`,
    ...consequence(groups, users.isPoolTerminating),
    overrideWithoutReason ? 'Its allow-deletion annotation has no reason and does not count.' : '',
  ]);
}

/** What a deletion would do, and how it becomes possible: told for nodes first, because they suffer most. */
function consequence(groups: readonly Group[], poolTerminating: boolean): readonly [string, string] {
  const of = (kind: ReferrerKind): number => groups.find((group) => group.kind === kind)?.count ?? 0;
  const nodes = of('Node');
  const degraded = nodes + of('MachineConfigPool');
  if (degraded === 0) return ['Deleting it would make the build fail.', 'Delete it once the build has ended.'];
  const who = degraded > 1 ? 'them' : nodes > 0 ? 'the node' : 'the pool';
  const they = degraded > 1 ? 'they have' : nodes > 0 ? 'the node has' : 'the pool has';
  return [
    `Deleting it would leave ${who} Degraded.`,
    nodes > 0 && poolTerminating
      ? `Its pool is being deleted: remove the pool's label from ${nodes > 1 ? 'the nodes' : 'the node'}, and delete the config once ${nodes > 1 ? 'they have' : 'it has'} moved to another one.`
      : `Delete it once ${they} moved on to another config.`,
  ];
}

/** The refusal of a config that was superseded too short a while ago. */
export function heldMessage(name: ConfigName, supersededAt: Date, freeAt: Date): string {
  return answer('MCG_HELD', [
    `${shown(name)} was superseded at ${supersededAt.toISOString()} and is held until ${freeAt.toISOString()}: a machine may be booting with it.`,
    'Delete it after that time.',
  ]);
}

/** The refusal of a config whose use could not be found out. Never says "in use": that is not known. */
export function unverifiedMessage(name: ConfigName | undefined, unreadable: readonly UnreadableSource[]): string {
  const causes = unreadable.map(({ name, reason }) => `${name}: ${toPrintableLine(reason, 160)}`);
  return answer('MCG_UNVERIFIED', [
    `could not verify whether ${name === undefined ? 'the config' : shown(name)} is in use (${joinWithAnd(causes)}).`,
    "Nothing was deleted. Try again; if it stays, look at the guard's log, its rights and its way to the API server.",
  ]);
}

/** The refusal of a request that is not a readable review. */
export function badReviewMessage(problem: string): string {
  return answer('MCG_BAD_REVIEW', [`${toPrintableLine(problem, 300)}.`]);
}

/** What Warn and Audit say of a config that Enforce would have refused. */
export function wouldDenyMessage(mode: string, refusal: string): string {
  return `MCG_WOULD_DENY: mode ${mode} allows this deletion; Enforce would refuse it. ${refusal}`;
}

/** The one line of an allowed deletion, for the log. */
export function allowedMessage(code: Code, name: ConfigName, why: string): string {
  return `${code}: ${shown(name)} ${why}`;
}

/** What a person should know although the deletion was allowed. Each line fits a Warning header. */
export function weakReferenceWarnings(name: ConfigName, users: ReferenceSummary): string[] {
  const warnings: string[] = [];
  if (users.weak.total > 0) {
    const mentioned = joinWithAnd(byKind(users.weak).map(told));
    // The name first: what does not fit is cut off at the end.
    warnings.push(toPrintableLine(`${name} is still mentioned by ${mentioned}`, WARNING_MAX));
  }
  if (users.unreportedNodes > 0) {
    const have = users.unreportedNodes === 1 ? 'has' : 'have';
    warnings.push(
      toPrintableLine(
        `${countNoun(users.unreportedNodes, 'node')} ${have} not reported a configuration yet`,
        WARNING_MAX,
      ),
    );
  }
  return warnings;
}

/** What the client sees of an override. */
export function overrideWarning(reason: string): string {
  return toPrintableLine(`MCG_OVERRIDDEN: deletion allowed by annotation: ${reason}`, WARNING_MAX);
}

/** What the client sees of mode Warn. */
export function wouldDenyWarning(cause: Code, name: ConfigName): string {
  return toPrintableLine(`MCG_WOULD_DENY (${cause}): mode Enforce would refuse to delete ${name}`, WARNING_MAX);
}

/** The objects of one kind that have a use, and those that are named. */
interface Group {
  readonly kind: ReferrerKind;
  readonly count: number;
  readonly named: readonly { readonly name: string; readonly fields: readonly string[] }[];
}

/** The kinds that there are, nodes first. */
function byKind(uses: ReferenceGroup): readonly Group[] {
  const kinds = Object.keys(NOUNS) as ReferrerKind[];
  return kinds
    .filter((kind) => uses.referrersByKind[kind] > 0)
    .map((kind) => ({ kind, count: uses.referrersByKind[kind], named: named(uses, kind) }));
}

function named({ references }: ReferenceGroup, kind: ReferrerKind): Group['named'] {
  const objects: { readonly name: string; readonly fields: string[] }[] = [];
  for (const { kind: other, name, field } of references) {
    if (other !== kind) continue;
    const last = objects.at(-1);
    if (last?.name === name) last.fields.push(field);
    else if (objects.length === NAMES_PER_KIND) break;
    else objects.push({ name, fields: [field] });
  }
  return objects;
}

/** `3 nodes (a currentConfig, b currentConfig, c desiredConfig and 4 more)`. */
function told({ kind, count, named }: Group): string {
  const [only] = named;
  if (count === 1 && only !== undefined) {
    return `${NOUNS[kind]} ${toPrintableLine(only.name, NAME_MAX)} (${only.fields.join(', ')})`;
  }
  const more = count - named.length;
  const shownNames = named
    .map(({ name, fields }) => `${toPrintableLine(name, NAME_MAX)} ${fields.join('+')}`)
    .join(', ');
  return `${countNoun(count, NOUNS[kind])} (${shownNames}${more > 0 ? ` and ${more} more` : ''})`;
}

function shown(name: ConfigName): string {
  return toPrintableLine(name, NAME_MAX);
}

function answer(code: Code, sentences: readonly string[]): string {
  const said = sentences.filter((sentence) => sentence !== '').join(' ');
  return `${code}: ${said} See ${docsLink(code)}`;
}
