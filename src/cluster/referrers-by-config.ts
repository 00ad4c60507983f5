import type { ConfigName } from '../policy/config-name.ts';
import type { Referrer } from '../policy/referrer.ts';

/** Referrers by the configs that they name, so that a refusal need not walk over all nodes of a cluster. */
export class ReferrersByConfig {
  readonly #naming = new Map<ConfigName, Set<Referrer>>();
  readonly #terminating = new Set<Referrer>();

  /** One has changed: as it was, if it was there, and as it is, unless it is gone. */
  change(before: Referrer | undefined, now: Referrer | undefined): void {
    if (before !== undefined) this.#remove(before);
    if (now !== undefined) this.#add(now);
  }

  /** All that name this config, and the pools that are being deleted, which name none: a refusal tells of that. */
  concerning(config: ConfigName): readonly Referrer[] {
    return [...(this.#naming.get(config) ?? []), ...this.#terminating];
  }

  #add(referrer: Referrer): void {
    if (referrer.terminating === true) this.#terminating.add(referrer);
    for (const { config } of referrer.uses) {
      const naming = this.#naming.get(config);
      if (naming === undefined) this.#naming.set(config, new Set([referrer]));
      else naming.add(referrer);
    }
  }

  #remove(referrer: Referrer): void {
    this.#terminating.delete(referrer);
    for (const { config } of referrer.uses) {
      const naming = this.#naming.get(config);
      naming?.delete(referrer);
      if (naming?.size === 0) this.#naming.delete(config);
    }
  }
}
