import type { ConfigName } from '../decision/config-name.ts';
import type { Referrer } from '../decision/references.ts';

/**
 * The referrers of one kind by the configs that they name, so that a denial does not walk over all nodes. A referrer
 * that changes keeps its position: repeated denials name the same nodes.
 */
export class ReferrersByConfig {
  readonly #byConfig = new Map<ConfigName, Map<string, Referrer>>();
  readonly #terminating = new Map<string, Referrer>();

  /** Applies one change. `before` is undefined if the referrer is new, and `after` if it was deleted. */
  update(before: Referrer | undefined, after: Referrer | undefined): void {
    for (const { config } of before?.references ?? []) {
      if (after?.references.some((reference) => reference.config === config) !== true) {
        this.#remove(config, before?.name ?? '');
      }
    }
    if (before?.isTerminating === true && after?.isTerminating !== true) this.#terminating.delete(before.name);
    if (after === undefined) return;
    if (after.isTerminating === true) this.#terminating.set(after.name, after);
    for (const { config } of after.references) {
      const referrers = this.#byConfig.get(config) ?? new Map<string, Referrer>();
      this.#byConfig.set(config, referrers.set(after.name, after));
    }
  }

  /** The referrers that name this config, and the pools that are being deleted: a denial mentions those as well. */
  find(config: ConfigName): readonly Referrer[] {
    return [...(this.#byConfig.get(config)?.values() ?? []), ...this.#terminating.values()];
  }

  #remove(config: ConfigName, name: string): void {
    const referrers = this.#byConfig.get(config);
    referrers?.delete(name);
    if (referrers?.size === 0) this.#byConfig.delete(config);
  }
}
