import { type ConfigName, parsePoolName } from './config-name.ts';

/** The kinds that can reference a config, each with its noun, in the order of messages. */
export const REFERRER_NOUNS = { Node: 'node', MachineConfigPool: 'pool', MachineOSBuild: 'build' } as const;

export type ReferrerKind = keyof typeof REFERRER_NOUNS;

export const REFERRER_KINDS = Object.keys(REFERRER_NOUNS) as readonly ReferrerKind[];

/** A strong reference denies, because the referrer breaks without the config. A weak one only warns. */
export type Strength = 'strong' | 'weak';

/** A field of an object that names a config. */
export interface Reference {
  /** Such as `currentConfig`, `spec` or `firstPivotConfig`. */
  readonly field: string;
  readonly config: ConfigName;
  readonly strength: Strength;
}

/** A reference and its referrer. */
export interface NamedReference extends Reference {
  readonly kind: ReferrerKind;
  readonly name: string;
}

/** An object of one of these kinds, reduced to its references. */
export interface Referrer {
  readonly kind: ReferrerKind;
  readonly name: string;
  readonly references: readonly Reference[];
  /** A pool that is being deleted, see `parsePoolReferrer`. */
  readonly isTerminating?: true;
  /** A node without `currentConfig` and `desiredConfig`. Never a Windows node without annotations of the operator. */
  readonly isConfigUnreported?: true;
  /** The creation time of such a node, in whole seconds. */
  readonly createdAt?: Date;
  /** The labels of such a node, unless it has an annotation of the operator. See `isManagedByOperator`. */
  readonly labels?: Readonly<Record<string, unknown>>;
  /** The nodeSelector of a pool. */
  readonly nodeSelector?: unknown;
  readonly emptyStatus?: EmptyStatus;
  /** A pool that `restore` has paused. `since` is undefined if it is unknown. */
  readonly pausedForRestore?: { readonly config: string; readonly since: Date | undefined };
  /** The last transition of a pool's condition `Updated`, in whole seconds. */
  readonly updatedChangedAt?: Date;
  /** The resourceVersion of a pool. */
  readonly version?: string;
}

/** A pool whose spec names a config and whose status names none. */
interface EmptyStatus {
  /** Since when the pool rolls out its first config. Undefined if unknown. */
  readonly since: Date | undefined;
  readonly hasUpdatedMachine: boolean;
}

/** Something that a decision needs and the guard could not read. */
export interface UnreadableSource {
  readonly name: string;
  readonly reason: string;
}

/** What the guard remembers of one config. */
export interface ConfigHistory {
  /** Present if the memory is not complete up to the live read. */
  readonly unreadable: UnreadableSource | undefined;
  /** Since when the guard has seen every change of the pools. */
  readonly watchedSince: Date | undefined;
  /** The pool that names the config, or named it last. */
  readonly servable?: {
    readonly pool: string;
    /** Undefined while the index has the pool that names it. */
    readonly until: Date | undefined;
  };
  /** The node that named the config when it was removed. */
  readonly removedNode?: {
    /** Undefined if it was removed while no guard was running. */
    readonly name: string | undefined;
    readonly at: Date;
  };
  /** The creation time of a config. Undefined if the guard has not read it. */
  readonly createdAt: (config: ConfigName) => Date | undefined;
}

/** The part of the cluster that a decision depends on. */
export interface ClusterState {
  readonly referrers: readonly Referrer[];
  /** Unless this is empty, no config counts as unused. */
  readonly unreadable: readonly UnreadableSource[];
  /** What the guard remembers of the config. Present only if a hold is set. */
  readonly history?: ConfigHistory;
}

/** The references of one strength to one config. */
export interface ReferenceGroup {
  /** Lists the first referrers of each kind. References of the same referrer are adjacent. */
  readonly references: readonly NamedReference[];
  /** The number of all references. */
  readonly total: number;
  readonly referrersByKind: Readonly<Record<ReferrerKind, number>>;
}

/** All references to one config, and other facts for its message. */
export interface ReferenceSummary {
  readonly strong: ReferenceGroup;
  readonly weak: ReferenceGroup;
  /** The number of nodes with `isConfigUnreported`. */
  readonly unreportedNodes: number;
  /** Whether the pool of the config is being deleted. */
  readonly isPoolTerminating: boolean;
}

export function hasStrongReference(config: ConfigName, { references }: Referrer): boolean {
  return references.some((reference) => reference.strength === 'strong' && reference.config === config);
}

/**
 * Finds all references to a config by its exact name.
 *
 * @param maxReferrersPerKind limits the references, but not the counts
 */
export function summarizeReferences(
  config: ConfigName,
  referrers: Iterable<Referrer>,
  maxReferrersPerKind: number = Number.POSITIVE_INFINITY,
): ReferenceSummary {
  const strong = new ReferenceCollector(maxReferrersPerKind);
  const weak = new ReferenceCollector(maxReferrersPerKind);
  const pool = parsePoolName(config);
  let unreportedNodes = 0;
  let isPoolTerminating = false;
  for (const referrer of referrers) {
    if (referrer.isConfigUnreported === true) unreportedNodes += 1;
    if (referrer.isTerminating === true && referrer.name === pool) isPoolTerminating = true;
    for (const reference of referrer.references) {
      if (reference.config === config)
        (reference.strength === 'strong' ? strong : weak).add(referrer, reference);
    }
  }
  return { strong, weak, unreportedNodes, isPoolTerminating };
}

class ReferenceCollector implements ReferenceGroup {
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
