import type { Referrer, Use } from '../policy/referrer.ts';

/** Beyond it all are forgotten: a cluster has a few at a time, and those of configs that are gone must not add up. */
const REMEMBERED = 1_000;

/**
 * Lets referrers that name the same configs in the same fields share that: the nodes of a pool have a handful of forms. In a large cluster a
 * refusal waits for memory more than for anything else, and so it finds most of it in the processor's cache.
 */
export class SharedUses {
  readonly #known = new Map<string, readonly Use[]>();

  /** The same referrer, with uses that others have too. */
  share(referrer: Referrer): Referrer {
    const key = referrer.uses.map(({ field, config, strength }) => `${field} ${strength} ${config}`).join('\n');
    const known = this.#known.get(key);
    if (known !== undefined) return { ...referrer, uses: known };
    if (this.#known.size >= REMEMBERED) this.#known.clear();
    this.#known.set(key, referrer.uses);
    return referrer;
  }
}
