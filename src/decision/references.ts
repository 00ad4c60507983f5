import { type ConfigName, poolOfConfig } from './config-name.ts';

/** The kinds of object that can refer to a rendered config, with the noun and in the order of messages. */
export const REFERRER_NOUNS = { Node: 'node', MachineConfigPool: 'pool', MachineOSBuild: 'build' } as const;

export type ReferrerKind = keyof typeof REFERRER_NOUNS;

export const REFERRER_KINDS = Object.keys(REFERRER_NOUNS) as readonly ReferrerKind[];

/**
 * Without the target of a strong reference the referrer breaks. A weak reference is worth a warning and never denies.
 */
export type Strength = 'strong' | 'weak';

/** A field of an object that names a config. */
export interface Reference {
  /** Such as `currentConfig`, `spec` or `firstPivotConfig`. */
  readonly field: string;
  readonly config: ConfigName;
  readonly strength: Strength;
}

/** A reference together with the object that has it. */
export interface NamedReference extends Reference {
  readonly kind: ReferrerKind;
  readonly name: string;
}

/** An object of one of these kinds, reduced to its references. */
export interface Referrer {
  readonly kind: ReferrerKind;
  readonly name: string;
  readonly references: readonly Reference[];
  /** A pool that is being deleted. It has no references: see `parsePoolReferrer`. */
  readonly isTerminating?: true;
  /** A node without `currentConfig` and `desiredConfig`: it is unknown which config it needs. */
  readonly isUnreported?: true;
}

/** The part of a MachineConfig that the guard keeps. */
export interface ConfigMetadata {
  readonly name: ConfigName;
  readonly createdAt: Date;
}

/** Something that a decision needs and that could not be read, and the reason, for a person. */
export interface UnreadableSource {
  readonly name: string;
  readonly reason: string;
}

/** What was read from the cluster for one decision. */
export interface ClusterState {
  readonly referrers: Iterable<Referrer>;
  /** As long as this is not empty, no config counts as unused. */
  readonly unreadable: readonly UnreadableSource[];
  /** All rendered configs. Absent unless a hold is set. */
  readonly renderedConfigs?: readonly ConfigMetadata[];
}

/** The references of one strength to one config. A large cluster has thousands of them, and a message names a few. */
export interface ReferenceGroup {
  /** The references of the first referrers of each kind. References of the same referrer are adjacent. */
  readonly references: readonly NamedReference[];
  /** The number of all references. */
  readonly total: number;
  readonly referrersByKind: Readonly<Record<ReferrerKind, number>>;
}

/** All references to one config, and what else a message about it mentions. */
export interface ReferenceSummary {
  readonly strong: ReferenceGroup;
  readonly weak: ReferenceGroup;
  /** Nodes that have not reported which config they run. */
  readonly unreportedNodes: number;
  /** Whether the pool that the config was rendered for is being deleted. */
  readonly isPoolTerminating: boolean;
}

/** Whether the deletion of this config would break this object. */
export function hasStrongReference(config: ConfigName, { references }: Referrer): boolean {
  return references.some((reference) => reference.strength === 'strong' && reference.config === config);
}

/**
 * Finds all references to a config by exact equality of the name. Labels and owners say nothing about use.
 *
 * @param maxReferrersPerKind how many referrers of each kind to list; the others are only counted
 */
export function summarizeReferences(
  config: ConfigName,
  referrers: Iterable<Referrer>,
  maxReferrersPerKind: number = Number.POSITIVE_INFINITY,
): ReferenceSummary {
  const strong = new ReferenceCounter(maxReferrersPerKind);
  const weak = new ReferenceCounter(maxReferrersPerKind);
  const pool = poolOfConfig(config);
  let unreportedNodes = 0;
  let isPoolTerminating = false;
  for (const referrer of referrers) {
    if (referrer.isUnreported === true) unreportedNodes += 1;
    if (referrer.isTerminating === true && referrer.name === pool) isPoolTerminating = true;
    for (const reference of referrer.references) {
      if (reference.config === config) (reference.strength === 'strong' ? strong : weak).add(referrer, reference);
    }
  }
  return { strong, weak, unreportedNodes, isPoolTerminating };
}

class ReferenceCounter implements ReferenceGroup {
  readonly references: NamedReference[] = [];
  readonly referrersByKind = Object.fromEntries(REFERRER_KINDS.map((kind) => [kind, 0])) as Record<
    ReferrerKind,
    number
  >;
  total = 0;
  readonly #maxReferrersPerKind: number;
  #lastReferrer: Referrer | undefined;

  constructor(maxReferrersPerKind: number) {
    this.#maxReferrersPerKind = maxReferrersPerKind;
  }

  add(referrer: Referrer, { field, config, strength }: Reference): void {
    const { kind, name } = referrer;
    this.total += 1;
    if (referrer !== this.#lastReferrer) this.referrersByKind[kind] += 1;
    this.#lastReferrer = referrer;
    if (this.referrersByKind[kind] <= this.#maxReferrersPerKind) {
      this.references.push({ kind, name, field, config, strength });
    }
  }
}

/**
 * When a config was superseded: the creation time of the next younger config of the same pool. Undefined if there is
 * none, or if the name contains no pool. After a roll-back to an older config the time is too early.
 */
export function findSupersededAt(config: ConfigName, renderedConfigs: readonly ConfigMetadata[]): Date | undefined {
  const pool = poolOfConfig(config);
  const own = renderedConfigs.find(({ name }) => name === config);
  if (pool === undefined || own === undefined) return undefined;
  const younger = renderedConfigs
    .filter(({ name, createdAt }) => poolOfConfig(name) === pool && createdAt > own.createdAt)
    .map(({ createdAt }) => createdAt.getTime());
  return younger.length === 0 ? undefined : new Date(Math.min(...younger));
}
