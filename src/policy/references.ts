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

/** Everything in the cluster that names one config. Uses by one object follow one another. */
export interface Users {
  readonly hard: readonly Reference[];
  readonly notes: readonly Reference[];
  /** How many nodes have not said yet which config they run. */
  readonly unreportedNodes: number;
  /** Is the pool that this config was rendered for being deleted? */
  readonly poolTerminating: boolean;
}

/** Would deleting this config break this object? */
export function breaksWithout(config: ConfigName, { uses }: Referrer): boolean {
  return uses.some((use) => use.strength === 'hard' && use.config === config);
}

/** The first that would break; a refusal needs no more, and in a large cluster the others are thousands. */
export function firstUser(config: ConfigName, referrers: Iterable<Referrer>): Referrer | undefined {
  for (const referrer of referrers) if (breaksWithout(config, referrer)) return referrer;
  return undefined;
}

/** Who names this config, by exact equality of the name; labels and owners tell nothing about use. */
export function whoUses(config: ConfigName, referrers: Iterable<Referrer>): Users {
  const hard: Reference[] = [];
  const notes: Reference[] = [];
  const pool = poolOf(config);
  let unreportedNodes = 0;
  let poolTerminating = false;
  for (const { kind, name, uses, unreported, terminating } of referrers) {
    if (unreported === true) unreportedNodes += 1;
    if (terminating === true && name === pool) poolTerminating = true;
    for (const use of uses) {
      if (use.config !== config) continue;
      const { field, strength } = use;
      (strength === 'hard' ? hard : notes).push({ kind, name, field, config, strength });
    }
  }
  return { hard, notes, unreportedNodes, poolTerminating };
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
