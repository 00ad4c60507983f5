import { type ConfigName, isPool, type Referrer, REFERRER_KINDS } from '../decision/references.ts';
import { isManagedByOperator } from './node-pool.ts';

/**
 * Indexes referrers by config, so that a decision need not visit all nodes. A changed referrer keeps its position, so
 * that repeated denials name the same nodes.
 */
export class ReferrersByConfig {
  /** By config, and by kind and name. */
  readonly #referrers = new Map<ConfigName, Map<string, Referrer>>();
  /** Pools, and nodes without `currentConfig`: the hold and the warnings of each config depend on them. */
  readonly #others = new Map<string, Referrer>();

  constructor(referrers: Iterable<Referrer> = []) {
    for (const referrer of referrers) this.update(undefined, referrer);
  }

  /** `before` is undefined for a new referrer, and `after` for a deleted one. */
  update(before: Referrer | undefined, after: Referrer | undefined): void {
    for (const { config } of before?.references ?? []) {
      if (before !== undefined && !namesConfig(after, config)) this.#remove(config, toKey(before));
    }
    if (before !== undefined && (after === undefined || !isNeededAlways(after))) this.#others.delete(toKey(before));
    if (after === undefined) return;
    const key = toKey(after);
    if (isNeededAlways(after)) this.#others.set(key, after);
    for (const { config } of after.references) {
      const referrers = this.#referrers.get(config) ?? new Map<string, Referrer>();
      this.#referrers.set(config, referrers.set(key, after));
    }
  }

  /** Returns all that a decision about a config depends on. Nodes come first, because one small GET confirms a node. */
  find(config: ConfigName): readonly Referrer[] {
    const named = [...(this.#referrers.get(config)?.values() ?? [])];
    const others = [...this.#others.values()].filter((referrer) => !namesConfig(referrer, config));
    const pools = [...this.#others.values()].filter(isPool);
    const managed = [...named, ...others].filter((referrer) => isManagedByOperator(referrer, pools));
    return REFERRER_KINDS.flatMap((kind) => managed.filter((referrer) => referrer.kind === kind));
  }

  #remove(config: ConfigName, key: string): void {
    const referrers = this.#referrers.get(config);
    referrers?.delete(key);
    if (referrers?.size === 0) this.#referrers.delete(config);
  }
}

function toKey({ kind, name }: Referrer): string {
  return `${kind}/${name}`;
}

function isNeededAlways(referrer: Referrer): boolean {
  return isPool(referrer) || (referrer.kind === 'Node' && referrer.unreported !== undefined);
}

function namesConfig(referrer: Referrer | undefined, config: ConfigName): boolean {
  return referrer?.references.some((reference) => reference.config === config) === true;
}
