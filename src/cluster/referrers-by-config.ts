import type { ConfigName } from '../policy/config-name.ts';
import type { Referrer } from '../policy/referrer.ts';

/**
 * Referrers of one kind by the configs that they name, so that a refusal need not walk over all nodes of a cluster. One that changes keeps
 * its place: the same refusal, repeated, is to name the same nodes.
 */
export class ReferrersByConfig {
  readonly #naming = new Map<ConfigName, Map<string, Referrer>>();
  readonly #terminating = new Map<string, Referrer>();

  /** One has changed: as it was, if it was there, and as it is, unless it is gone. */
  change(before: Referrer | undefined, now: Referrer | undefined): void {
    for (const { config } of before?.uses ?? []) {
      if (now?.uses.some((use) => use.config === config) !== true) this.#forget(config, before?.name ?? '');
    }
    if (before?.terminating === true && now?.terminating !== true) this.#terminating.delete(before.name);
    if (now === undefined) return;
    if (now.terminating === true) this.#terminating.set(now.name, now);
    for (const { config } of now.uses) {
      const naming = this.#naming.get(config);
      if (naming === undefined) this.#naming.set(config, new Map([[now.name, now]]));
      else naming.set(now.name, now);
    }
  }

  /** All that name this config, and the pools that are being deleted, which name none: a refusal tells of that. */
  concerning(config: ConfigName): readonly Referrer[] {
    return [...(this.#naming.get(config)?.values() ?? []), ...this.#terminating.values()];
  }

  #forget(config: ConfigName, name: string): void {
    const naming = this.#naming.get(config);
    naming?.delete(name);
    if (naming?.size === 0) this.#naming.delete(config);
  }
}
