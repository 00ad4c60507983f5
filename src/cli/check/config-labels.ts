import { toPrintableLine } from '../../decision/printable-text.ts';

/** How a table shows a config: its whole name, with a short hash, or with a short hash and without `rendered-`. */
export type LabelForm = 'whole' | 'short' | 'shortest';

/** From the longest to the shortest, in the order in which a table tries them. */
export const LABEL_FORMS: readonly LabelForm[] = ['whole', 'short', 'shortest'];

const RENDERED_NAME = /^(?<prefix>rendered-)(?<pool>.+-)(?<hash>[0-9a-f]{32})$/;
/** Eight digits of a hash distinguish the configs of a cluster. Misspelled names can need more. */
const HASH_LENGTHS = [8, 12, 16, 32];
const MAX_NAME_LENGTH = 253;

/** Returns a function that formats these configs. Different configs have different labels. */
export function createConfigLabels(configs: Iterable<string>, form: LabelForm): (config: string) => string {
  const names = [...new Set(configs)];
  for (const hashLength of HASH_LENGTHS) {
    const labels = names.map((name) => formatLabel(name, form, hashLength));
    if (new Set(labels).size === names.length) return (config) => formatLabel(config, form, hashLength);
  }
  return (config) => toPrintableLine(config, MAX_NAME_LENGTH);
}

function formatLabel(config: string, form: LabelForm, hashLength: number): string {
  const { prefix, pool, hash } = RENDERED_NAME.exec(config)?.groups ?? {};
  if (form === 'whole' || prefix === undefined || pool === undefined || hash === undefined) {
    return toPrintableLine(config, MAX_NAME_LENGTH);
  }
  return `${form === 'short' ? prefix : ''}${pool}${hash.slice(0, hashLength)}`;
}
