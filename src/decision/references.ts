import { type ConfigName, poolOfConfig } from './config-name.ts';

/** The kinds of object that can name a rendered config. */
export type ReferrerKind = 'Node' | 'MachineConfigPool' | 'MachineOSBuild';

/** `hard`: deleting the config would break the referrer. `note`: worth telling a person, never a reason to refuse. */
export type Strength = 'strong' | 'weak';

/** One place in one object that names a config. */
export interface Reference {
  readonly field: string;
  readonly config: ConfigName;
  readonly strength: Strength;
}

/** What the guard keeps of a Node, MachineConfigPool or MachineOSBuild: its name and the configs that it names. */
export interface Referrer {
  readonly kind: ReferrerKind;
  readonly name: string;
  readonly references: readonly Reference[];
  /** A pool that is being deleted. Its fields no longer count (see {@link poolReferrer}). */
  readonly isTerminating?: true;
  /** A node that carries neither annotation yet: which config it will need cannot be known. */
  readonly isUnreported?: true;
}

/** A rendered config as far as {@link findSupersededAt} needs it. */
export interface ConfigMetadata {
  readonly name: ConfigName;
  readonly createdAt: Date;
}

/** A kind of object that could not be read, and why, in words for a person. */
export interface UnreadableSource {
  readonly name: string;
  readonly reason: string;
}

/** What was read of the cluster for one decision. */
export interface ClusterState {
  readonly referrers: Iterable<Referrer>;
  /** Kinds whose objects could not be read. While there is one, nothing can be called unused. */
  readonly unreadable: readonly UnreadableSource[];
  /** All rendered configs. Read only while a hold is set. */
  readonly renderedConfigs?: readonly ConfigMetadata[];
}

/** One use together with the object that it stands in. */
export interface NamedReference extends Reference {
  readonly kind: ReferrerKind;
  readonly name: string;
}

/** All uses of one strength. In a large cluster they are thousands, of which a person is shown a few. */
export interface ReferenceGroup {
  /** Those of the first objects of each kind; all of them where nobody said how many. Uses by one object follow one another. */
  readonly references: readonly NamedReference[];
  /** How many references there are. */
  readonly total: number;
  /** How many objects have them. */
  readonly referrersByKind: Readonly<Record<ReferrerKind, number>>;
}

/** Everything in the cluster that names one config. */
export interface ReferenceSummary {
  readonly strong: ReferenceGroup;
  readonly weak: ReferenceGroup;
  /** How many nodes have not said yet which config they run. */
  readonly unreportedNodes: number;
  /** Is the pool that this config was rendered for being deleted? */
  readonly isPoolTerminating: boolean;
}

/** Would deleting this config break this object? */
export function hasStrongReference(config: ConfigName, { references }: Referrer): boolean {
  return references.some((use) => use.strength === 'strong' && use.config === config);
}

/**
 * Who names this config, by exact equality of the name; labels and owners tell nothing about use.
 *
 * @param toldOf of how many objects of each kind the references themselves are wanted; the others are only counted
 */
export function summarizeReferences(
  config: ConfigName,
  referrers: Iterable<Referrer>,
  toldOf: number = Number.POSITIVE_INFINITY,
): ReferenceSummary {
  const strong = new Tally(toldOf);
  const weak = new Tally(toldOf);
  const pool = poolOfConfig(config);
  let unreportedNodes = 0;
  let isPoolTerminating = false;
  for (const referrer of referrers) {
    if (referrer.isUnreported === true) unreportedNodes += 1;
    if (referrer.isTerminating === true && referrer.name === pool) isPoolTerminating = true;
    for (const use of referrer.references) {
      if (use.config === config) (use.strength === 'strong' ? strong : weak).add(referrer, use);
    }
  }
  return { strong, weak, unreportedNodes, isPoolTerminating };
}

/** Counts uses, and makes an object of those alone that are told. */
class Tally implements ReferenceGroup {
  readonly references: NamedReference[] = [];
  readonly referrersByKind: Record<ReferrerKind, number> = { Node: 0, MachineConfigPool: 0, MachineOSBuild: 0 };
  total = 0;
  readonly #toldOf: number;
  #last: Referrer | undefined;

  constructor(toldOf: number) {
    this.#toldOf = toldOf;
  }

  add(referrer: Referrer, { field, config, strength }: Reference): void {
    const { kind, name } = referrer;
    this.total += 1;
    if (referrer !== this.#last) this.referrersByKind[kind] += 1;
    this.#last = referrer;
    if (this.referrersByKind[kind] <= this.#toldOf) this.references.push({ kind, name, field, config, strength });
  }
}

/**
 * Since when has this config been superseded: the creation of the next younger config rendered for the same pool, or
 * undefined while it is the newest or its name tells no pool. No state of our own is needed; after a roll-back to an older
 * config the answer is too early, which the hold's documentation says.
 */
export function findSupersededAt(config: ConfigName, all: readonly ConfigMetadata[]): Date | undefined {
  const pool = poolOfConfig(config);
  const own = all.find((candidate) => candidate.name === config);
  if (pool === undefined || own === undefined) return undefined;
  const younger = all
    .filter((candidate) => poolOfConfig(candidate.name) === pool && candidate.createdAt > own.createdAt)
    .map((candidate) => candidate.createdAt.getTime());
  return younger.length === 0 ? undefined : new Date(Math.min(...younger));
}
