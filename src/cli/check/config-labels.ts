import { toPrintableLine } from '../../decision/printable-text.ts';

/** How a config is written in a table: whole, with as much of its hash as tells it apart, or that without `rendered-`. */
export type LabelForm = 'whole' | 'short' | 'shortest';

/** From the longest to the shortest, in the order in which a table tries them. */
export const LABEL_FORMS: readonly LabelForm[] = ['whole', 'short', 'shortest'];

const RENDERED = /^(?<prefix>rendered-)(?<pool>.+-)(?<hash>[0-9a-f]{32})$/;
/** So many digits of a hash are enough for a person, and tell any two configs of a cluster apart, misspelt ones aside. */
const DIGITS = [8, 12, 16, 32];
const NAME_MAX = 253;

/** Labels for these configs, different names always with different labels. */
export function createConfigLabels(configs: Iterable<string>, form: LabelForm): (config: string) => string {
  const names = [...new Set(configs)];
  for (const digits of DIGITS) {
    const labels = names.map((name) => label(name, form, digits));
    if (new Set(labels).size === names.length) return (config) => label(config, form, digits);
  }
  return (config) => toPrintableLine(config, NAME_MAX);
}

function label(config: string, form: LabelForm, digits: number): string {
  const { prefix, pool, hash } = RENDERED.exec(config)?.groups ?? {};
  if (form === 'whole' || prefix === undefined || pool === undefined || hash === undefined) {
    return toPrintableLine(config, NAME_MAX);
  }
  return `${form === 'short' ? prefix : ''}${pool}${hash.slice(0, digits)}`;
}
