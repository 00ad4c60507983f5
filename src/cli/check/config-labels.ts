import { toPrintableLine } from '../../decision/printable-text.ts';

const RENDERED_NAME = /^(?<prefix>rendered-.+-)(?<hash>[0-9a-f]{32})$/;
/** Eight digits distinguish all configs but misspelled ones. */
const HASH_LENGTHS = [8, 12, 16, 32];
const MAX_NAME_LENGTH = 253;

/** Shortens the hashes, but keeps all labels different. */
export function createConfigLabels(configs: Iterable<string>): (config: string) => string {
  const names = [...new Set(configs)];
  const hashLength = HASH_LENGTHS.find((length) => {
    return new Set(names.map((name) => formatLabel(name, length))).size === names.length;
  });
  return (config) => formatLabel(config, hashLength);
}

function formatLabel(config: string, hashLength: number | undefined): string {
  const { prefix, hash } = RENDERED_NAME.exec(config)?.groups ?? {};
  return toPrintableLine(prefix === undefined ? config : prefix + hash?.slice(0, hashLength), MAX_NAME_LENGTH);
}
