import type { Referrer } from '../decision/references.ts';
import type { ConfigName } from '../decision/config-name.ts';

/** The referrers that name one config. */
interface Naming {
  readonly byName: Map<string, Referrer>;
  /** The same in one piece, which is copied much faster; undefined until it is asked for, after each change. */
  inOnePiece: readonly Referrer[] | undefined;
}

/**
 * Referrers of one kind by the configs that they name, so that a refusal need not walk over all nodes of a cluster. One that changes keeps
 * its place: the same refusal, repeated, is to name the same nodes.
 */
export class ReferrersByConfig {
  readonly #naming = new Map<ConfigName, Naming>();
  readonly #terminating = new Map<string, Referrer>();

  /** One has changed: as it was, if it was there, and as it is, unless it is gone. */
  update(before: Referrer | undefined, now: Referrer | undefined): void {
    // Most of what nodes report leaves alone what they name.
    if (before !== undefined && now !== undefined && saysTheSame(before, now)) return;
    for (const { config } of before?.references ?? []) {
      if (now?.references.some((use) => use.config === config) !== true) this.#forget(config, before?.name ?? '');
    }
    if (before?.isTerminating === true && now?.isTerminating !== true) this.#terminating.delete(before.name);
    if (now === undefined) return;
    if (now.isTerminating === true) this.#terminating.set(now.name, now);
    for (const { config } of now.references) {
      const naming = this.#naming.get(config);
      if (naming === undefined) {
        this.#naming.set(config, { byName: new Map([[now.name, now]]), inOnePiece: undefined });
      } else {
        naming.byName.set(now.name, now);
        naming.inOnePiece = undefined;
      }
    }
  }

  /** All that name this config, and the pools that are being deleted, which name none: a refusal tells of that. */
  find(config: ConfigName): readonly Referrer[] {
    const naming = this.#naming.get(config);
    if (naming === undefined) return [...this.#terminating.values()];
    naming.inOnePiece ??= [...naming.byName.values()];
    return this.#terminating.size === 0 ? naming.inOnePiece : [...naming.inOnePiece, ...this.#terminating.values()];
  }

  #forget(config: ConfigName, name: string): void {
    const naming = this.#naming.get(config);
    if (naming === undefined) return;
    naming.byName.delete(name);
    naming.inOnePiece = undefined;
    if (naming.byName.size === 0) this.#naming.delete(config);
  }
}

/** Uses are shared by those that have the same (see {@link SharedUses}), so that one look tells. */
function saysTheSame(before: Referrer, now: Referrer): boolean {
  return (
    before.references === now.references &&
    before.isTerminating === now.isTerminating &&
    before.isUnreported === now.isUnreported
  );
}
