import type { ConfigName } from '../mco/machine-config.ts';
import {
  type NamedReference,
  type Reference,
  type Referrer,
  REFERRER_KINDS,
  type ReferrerKind,
  type Strength,
} from '../mco/referrer.ts';

/** Of each kind. Messages, audit events and the status name no more. */
export const MAX_NAMED_REFERRERS = 10;

/** The references of one strength to one config. */
export interface ReferenceGroup {
  /** Those of the first referrers of each kind. References of the same referrer are adjacent. */
  readonly references: readonly NamedReference[];
  readonly referrersByKind: Readonly<Record<ReferrerKind, number>>;
  /** How many references there are. A referrer can have several. */
  readonly total: number;
}

/** All references to one config, as far as a message needs them. */
export type ReferenceSummary = Readonly<Record<Strength, ReferenceGroup>>;

export const NO_REFERENCES: ReferenceGroup = {
  references: [],
  referrersByKind: { Node: 0, MachineConfigPool: 0, MachineOSBuild: 0 },
  total: 0,
};

/**
 * The referrers whose references of one strength name one config; the strong ones keep it. It counts them while they
 * come and go, so that a summary costs the same for one node and for thousands of them. A changed referrer keeps its
 * position, so that repeated denials name the same nodes.
 */
export class ConfigReferrers {
  readonly #config: ConfigName;
  readonly #strength: Strength;
  readonly #byKind: Readonly<Record<ReferrerKind, Map<string, Referrer>>> = {
    Node: new Map(),
    MachineConfigPool: new Map(),
    MachineOSBuild: new Map(),
  };
  /** How many references there are of each kind. */
  readonly #totals = { ...NO_REFERENCES.referrersByKind };

  constructor(config: ConfigName, strength: Strength = 'strong') {
    this.#config = config;
    this.#strength = strength;
  }

  /** `before` is undefined for a new referrer, and `after` for a deleted one. Either may not name the config. */
  update(before: Referrer | undefined, after: Referrer | undefined): void {
    const countBefore = before === undefined ? 0 : this.#select(before).length;
    const countAfter = after === undefined ? 0 : this.#select(after).length;
    if (before !== undefined) this.#totals[before.kind] -= countBefore;
    if (after !== undefined) this.#totals[after.kind] += countAfter;
    if (after !== undefined && countAfter > 0) this.#byKind[after.kind].set(after.name, after);
    else if (before !== undefined) this.#byKind[before.kind].delete(before.name);
  }

  /** Returns the first referrer, if there is any. Nodes come first: one small GET confirms a node. */
  findFirst(): Referrer | undefined {
    return this.#listFirst(1)[0];
  }

  /** Returns how many references of this kind there are. */
  count(kind: ReferrerKind): number {
    return this.#totals[kind];
  }

  /**
   * @param current replaces the referrer of this kind and name
   * @param maxReferrers of each kind whose references are listed; all are counted
   */
  summarize(current?: Referrer, maxReferrers = MAX_NAMED_REFERRERS): ReferenceGroup {
    const first = this.#listFirst(maxReferrers).map((referrer) => {
      return current?.kind === referrer.kind && current.name === referrer.name ? current : referrer;
    });
    const { Node, MachineConfigPool, MachineOSBuild } = this.#byKind;
    const referrersByKind = {
      Node: Node.size,
      MachineConfigPool: MachineConfigPool.size,
      MachineOSBuild: MachineOSBuild.size,
    };
    const total = REFERRER_KINDS.reduce((sum, kind) => sum + this.#totals[kind], 0);
    const references = first.flatMap((referrer) => {
      const { kind, name } = referrer;
      return this.#select(referrer).map((reference) => ({ kind, name, ...reference }));
    });
    return { references, referrersByKind, total };
  }

  /** Visits no more referrers than it returns. */
  #listFirst(maxOfKind: number): readonly Referrer[] {
    const first: Referrer[] = [];
    for (const kind of REFERRER_KINDS) {
      let left = maxOfKind;
      for (const referrer of this.#byKind[kind].values()) {
        if (left === 0) break;
        left -= 1;
        first.push(referrer);
      }
    }
    return first;
  }

  #select({ references }: Referrer): readonly Reference[] {
    return references.filter(({ config, strength }) => config === this.#config && strength === this.#strength);
  }
}

/** Summarizes the references of a list of referrers, most of which may name other configs. */
export function summarizeReferences(
  config: ConfigName,
  referrers: readonly Referrer[],
  maxReferrers = Number.POSITIVE_INFINITY,
): ReferenceSummary {
  const summarize = (strength: Strength): ReferenceGroup => {
    const selected = new ConfigReferrers(config, strength);
    for (const referrer of referrers) selected.update(undefined, referrer);
    return selected.summarize(undefined, maxReferrers);
  };
  return { strong: summarize('strong'), weak: summarize('weak') };
}
