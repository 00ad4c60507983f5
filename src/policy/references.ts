import { type ConfigName, poolOf } from './config-name.ts';
import type { Referrer, ReferrerKind, Use } from './referrer.ts';

/** A rendered config as far as {@link supersededSince} needs it. */
export interface RenderedConfig {
  readonly name: ConfigName;
  readonly createdAt: Date;
}

/** A kind of object that could not be read, and why, in words for a person. */
export interface Unreadable {
  readonly what: string;
  readonly reason: string;
}

/** What was read of the cluster for one decision. */
export interface References {
  readonly referrers: Iterable<Referrer>;
  /** Kinds whose objects could not be read. While there is one, nothing can be called unused. */
  readonly unreadable: readonly Unreadable[];
  /** All rendered configs. Read only while a hold is set. */
  readonly renderedConfigs?: readonly RenderedConfig[];
}

/** One use together with the object that it stands in. */
export interface Reference extends Use {
  readonly kind: ReferrerKind;
  readonly name: string;
}

/** All uses of one strength. In a large cluster they are thousands, of which a person is shown a few. */
export interface Uses {
  /** Those of the first objects of each kind; all of them where nobody said how many. Uses by one object follow one another. */
  readonly references: readonly Reference[];
  /** How many references there are. */
  readonly total: number;
  /** How many objects have them. */
  readonly objects: Readonly<Record<ReferrerKind, number>>;
}

/** Everything in the cluster that names one config. */
export interface Users {
  readonly hard: Uses;
  readonly notes: Uses;
  /** How many nodes have not said yet which config they run. */
  readonly unreportedNodes: number;
  /** Is the pool that this config was rendered for being deleted? */
  readonly poolTerminating: boolean;
}

/** Would deleting this config break this object? */
export function breaksWithout(config: ConfigName, { uses }: Referrer): boolean {
  return uses.some((use) => use.strength === 'hard' && use.config === config);
}

/**
 * Who names this config, by exact equality of the name; labels and owners tell nothing about use.
 *
 * @param toldOf of how many objects of each kind the references themselves are wanted; the others are only counted
 */
export function whoUses(
  config: ConfigName,
  referrers: Iterable<Referrer>,
  toldOf: number = Number.POSITIVE_INFINITY,
): Users {
  const hard = new Tally(toldOf);
  const notes = new Tally(toldOf);
  const pool = poolOf(config);
  let unreportedNodes = 0;
  let poolTerminating = false;
  for (const referrer of referrers) {
    if (referrer.unreported === true) unreportedNodes += 1;
    if (referrer.terminating === true && referrer.name === pool) poolTerminating = true;
    for (const use of referrer.uses) {
      if (use.config === config) (use.strength === 'hard' ? hard : notes).add(referrer, use);
    }
  }
  return { hard, notes, unreportedNodes, poolTerminating };
}

/** Counts uses, and makes an object of those alone that are told. */
class Tally implements Uses {
  readonly references: Reference[] = [];
  readonly objects: Record<ReferrerKind, number> = { Node: 0, MachineConfigPool: 0, MachineOSBuild: 0 };
  total = 0;
  readonly #toldOf: number;
  #last: Referrer | undefined;

  constructor(toldOf: number) {
    this.#toldOf = toldOf;
  }

  add(referrer: Referrer, { field, config, strength }: Use): void {
    const { kind, name } = referrer;
    this.total += 1;
    if (referrer !== this.#last) this.objects[kind] += 1;
    this.#last = referrer;
    if (this.objects[kind] <= this.#toldOf) this.references.push({ kind, name, field, config, strength });
  }
}

/**
 * Since when has this config been superseded: the creation of the next younger config rendered for the same pool, or
 * undefined while it is the newest or its name tells no pool. No state of our own is needed; after a roll-back to an older
 * config the answer is too early, which the hold's documentation says.
 */
export function supersededSince(config: ConfigName, all: readonly RenderedConfig[]): Date | undefined {
  const pool = poolOf(config);
  const own = all.find((candidate) => candidate.name === config);
  if (pool === undefined || own === undefined) return undefined;
  const younger = all
    .filter((candidate) => poolOf(candidate.name) === pool && candidate.createdAt > own.createdAt)
    .map((candidate) => candidate.createdAt.getTime());
  return younger.length === 0 ? undefined : new Date(Math.min(...younger));
}
