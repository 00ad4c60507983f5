import type { ConfigName } from '../mco/machine-config.ts';
import {
  type NamedReference,
  type Referrer,
  REFERRER_KINDS,
  type ReferrerKind,
  type Strength,
} from '../mco/referrer.ts';

/** Of each kind. Messages, audit events and the status name no more. */
const MAX_SUMMARIZED_REFERRERS = 10;

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

const NO_GROUP: ReferenceGroup = {
  references: [],
  referrersByKind: { Node: 0, MachineConfigPool: 0, MachineOSBuild: 0 },
  total: 0,
};
export const NO_REFERENCES: ReferenceSummary = { strong: NO_GROUP, weak: NO_GROUP };

/**
 * The referrers of one config. It counts them while they come and go, so that a summary costs the same for one node and
 * for thousands of them. A changed referrer keeps its position, so that repeated denials name the same nodes.
 */
export class ConfigReferrers {
  readonly #config: ConfigName;
  readonly #groups: Readonly<Record<Strength, ReferrerGroup>> = { strong: createGroup(), weak: createGroup() };

  constructor(config: ConfigName, referrers: Iterable<Referrer> = []) {
    this.#config = config;
    for (const referrer of referrers) this.update(undefined, referrer);
  }

  get isEmpty(): boolean {
    return STRENGTHS.every((strength) => REFERRER_KINDS.every((kind) => this.#groups[strength][kind].total === 0));
  }

  /** `before` is undefined for a new referrer, and `after` for a deleted one. Either may not name the config. */
  update(before: Referrer | undefined, after: Referrer | undefined): void {
    for (const strength of STRENGTHS) {
      const countBefore = this.#count(before, strength);
      const countAfter = this.#count(after, strength);
      if (after !== undefined && countAfter > 0) this.#groups[strength][after.kind].byName.set(after.name, after);
      else if (before !== undefined && countBefore > 0) this.#groups[strength][before.kind].byName.delete(before.name);
      const kind = (before ?? after)?.kind;
      if (kind !== undefined) this.#groups[strength][kind].total += countAfter - countBefore;
    }
  }

  /** Returns the first referrer whose reference denies a deletion. Nodes come first: one small GET confirms a node. */
  findStrong(): Referrer | undefined {
    for (const kind of REFERRER_KINDS) {
      const first = this.#groups.strong[kind].byName.values().next();
      if (first.done !== true) return first.value;
    }
    return undefined;
  }

  /** Returns how many references of this kind deny a deletion. */
  countStrong(kind: ReferrerKind): number {
    return this.#groups.strong[kind].total;
  }

  /**
   * @param current replaces the referrer of this kind and name, which names the config
   * @param maxReferrers of each kind whose references are listed; all are counted
   */
  summarize(current?: Referrer, maxReferrers = MAX_SUMMARIZED_REFERRERS): ReferenceSummary {
    const summarize = (strength: Strength) => this.#summarizeGroup(strength, current, maxReferrers);
    return { strong: summarize('strong'), weak: summarize('weak') };
  }

  #summarizeGroup(strength: Strength, current: Referrer | undefined, maxReferrers: number): ReferenceGroup {
    const references: NamedReference[] = [];
    const referrersByKind = { ...NO_GROUP.referrersByKind };
    let total = 0;
    for (const kind of REFERRER_KINDS) {
      const { byName, total: totalOfKind } = this.#groups[strength][kind];
      referrersByKind[kind] = byName.size;
      total += totalOfKind;
      for (const indexed of takeFirst(byName.values(), maxReferrers)) {
        const isReplaced = current?.kind === kind && current.name === indexed.name;
        const referrer = isReplaced ? current : indexed;
        total += this.#count(referrer, strength) - this.#count(indexed, strength);
        references.push(...this.#select(referrer, strength));
      }
    }
    return { references, referrersByKind, total };
  }

  #select({ kind, name, references }: Referrer, strength: Strength): NamedReference[] {
    const named = references.filter(
      (reference) => reference.config === this.#config && reference.strength === strength,
    );
    return named.map((reference) => ({ kind, name, ...reference }));
  }

  #count(referrer: Referrer | undefined, strength: Strength): number {
    return referrer === undefined ? 0 : this.#select(referrer, strength).length;
  }
}

/** Summarizes the references of a list of referrers, most of which may name other configs. */
export function summarizeReferences(
  config: ConfigName,
  referrers: Iterable<Referrer>,
  maxReferrers = Number.POSITIVE_INFINITY,
): ReferenceSummary {
  return new ConfigReferrers(config, referrers).summarize(undefined, maxReferrers);
}

const STRENGTHS = ['strong', 'weak'] as const;

type ReferrerGroup = Readonly<Record<ReferrerKind, { readonly byName: Map<string, Referrer>; total: number }>>;

function createGroup(): ReferrerGroup {
  const create = () => ({ byName: new Map<string, Referrer>(), total: 0 });
  return { Node: create(), MachineConfigPool: create(), MachineOSBuild: create() };
}

function* takeFirst<Item>(items: Iterable<Item>, max: number): Generator<Item> {
  let left = max;
  for (const item of items) {
    if (left === 0) return;
    left -= 1;
    yield item;
  }
}
