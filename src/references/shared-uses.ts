import type { Referrer, Reference } from '../decision/references.ts';
import type { ConfigName } from '../decision/config-name.ts';

/** Beyond it all are forgotten: a cluster has a few configs at a time, and those that are gone must not add up. */
const CONFIGS = 500;
/** So many forms of uses that begin with the same config are remembered: on its way from one config to the next a node has three or four. */
const FORMS = 16;

/**
 * Lets referrers that name the same configs in the same fields share that: the nodes of a pool have a handful of forms. In a large cluster
 * a refusal waits for memory more than for anything else, and so finds most of the index in the processor's cache.
 */
export class SharedUses {
  /** By the config that is named first. */
  readonly #known = new Map<ConfigName | undefined, (readonly Reference[])[]>();

  /** The same referrer, with uses that others have too. */
  share(referrer: Referrer): Referrer {
    const { references } = referrer;
    const first = references[0]?.config;
    const forms = this.#known.get(first);
    const known = forms?.find((form) => areSame(form, references));
    if (known !== undefined) return known === references ? referrer : { ...referrer, references: known };
    if (forms === undefined) this.#remember(first, [references]);
    else if (forms.unshift(references) > FORMS) forms.pop();
    return referrer;
  }

  #remember(first: ConfigName | undefined, forms: (readonly Reference[])[]): void {
    if (this.#known.size >= CONFIGS) this.#known.clear();
    this.#known.set(first, forms);
  }
}

function areSame(some: readonly Reference[], others: readonly Reference[]): boolean {
  return (
    some === others ||
    (some.length === others.length &&
      some.every(({ field, config, strength }, place) => {
        const other = others[place];
        return config === other?.config && field === other.field && strength === other.strength;
      }))
  );
}
