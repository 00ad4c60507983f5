import type { ConfigName, Referrer } from '../decision/references.ts';

/**
 * Indexes the referrers of one kind by config, so that a denial need not visit all nodes. A changed referrer
 * keeps its position, so that repeated denials name the same nodes.
 */
export class ReferrersByConfig {
  readonly #byConfig = new Map<ConfigName, Map<string, Referrer>>();

  /** `before` is undefined for a new referrer, and `after` for a deleted one. */
  update(before: Referrer | undefined, after: Referrer | undefined): void {
    for (const { config } of before?.references ?? []) {
      if (after?.references.some((reference) => reference.config === config) !== true) {
        this.#remove(config, before?.name ?? '');
      }
    }
    if (after === undefined) return;
    for (const { config } of after.references) {
      const referrers = this.#byConfig.get(config) ?? new Map<string, Referrer>();
      this.#byConfig.set(config, referrers.set(after.name, after));
    }
  }

  find(config: ConfigName): readonly Referrer[] {
    return [...(this.#byConfig.get(config)?.values() ?? [])];
  }

  #remove(config: ConfigName, name: string): void {
    const referrers = this.#byConfig.get(config);
    referrers?.delete(name);
    if (referrers?.size === 0) this.#byConfig.delete(config);
  }
}
