import { toPrintableLine } from '../../decision/printable-text.ts';

const RENDERED_NAME = /^(?<prefix>rendered-)(?<pool>.+-)(?<hash>[0-9a-f]{32})$/;
/** Eight digits of a hash distinguish the configs of a cluster. Misspelled names can need more. */
const HASH_LENGTHS = [8, 12, 16, 32];
const MAX_NAME_LENGTH = 253;

/** Shortens the hashes, and drops `rendered-` if `isShort`. Different configs have different labels. */
export function createConfigLabels(configs: Iterable<string>, isShort: boolean): (config: string) => string {
  const names = [...new Set(configs)];
  for (const hashLength of HASH_LENGTHS) {
    const labels = new Map(names.map((name) => [name, formatLabel(name, isShort, hashLength)]));
    if (new Set(labels.values()).size === names.length) return (config) => labels.get(config) ?? config;
  }
  return (config) => toPrintableLine(config, MAX_NAME_LENGTH);
}

function formatLabel(config: string, isShort: boolean, hashLength: number): string {
  const { prefix = '', pool, hash } = RENDERED_NAME.exec(config)?.groups ?? {};
  if (pool === undefined || hash === undefined) return toPrintableLine(config, MAX_NAME_LENGTH);
  return `${isShort ? '' : prefix}${pool}${hash.slice(0, hashLength)}`;
}
