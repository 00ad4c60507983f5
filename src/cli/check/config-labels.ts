import { toPrintableLine } from '../../decision/printable-text.ts';

const RENDERED_NAME = /^(?<prefix>rendered-)(?<pool>.+-)(?<hash>[0-9a-f]{32})$/;
/** Eight digits of a hash distinguish the configs of a cluster. Misspelled names can need more. */
const HASH_LENGTHS = [8, 12, 16, 32];
const MAX_NAME_LENGTH = 253;

/** Shortens the hashes, and drops `rendered-` if `isShort`. Different configs have different labels. */
export function createConfigLabels(configs: Iterable<string>, isShort: boolean): (config: string) => string {
  const names = [...new Set(configs)];
  const hashLength = HASH_LENGTHS.find((length) => {
    const labels = names.map((name) => formatLabel(name, isShort, length));
    return new Set(labels).size === names.length;
  });
  return (config) => formatLabel(config, isShort, hashLength);
}

function formatLabel(config: string, isShort: boolean, hashLength: number | undefined): string {
  const { prefix = '', pool, hash } = RENDERED_NAME.exec(config)?.groups ?? {};
  if (pool === undefined || hash === undefined) return toPrintableLine(config, MAX_NAME_LENGTH);
  return `${isShort ? '' : prefix}${pool}${hash.slice(0, hashLength)}`;
}
