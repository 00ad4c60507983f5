import { formatName } from '../../decision/message.ts';

const RENDERED_NAME = /^(?<prefix>rendered-.+-)(?<hash>[0-9a-f]{32})$/;
/** Eight digits suffice, unless a name is misspelled. */
const HASH_LENGTHS = [8, 12, 16, 32];

/** Shortens the hashes. All short names stay distinct. */
export function createNameShortener(configs: Iterable<string>): (config: string) => string {
  const names = [...new Set(configs)];
  const hashLength = HASH_LENGTHS.find((length) => {
    return new Set(names.map((name) => shortenName(name, length))).size === names.length;
  });
  return (config) => shortenName(config, hashLength);
}

function shortenName(config: string, hashLength: number | undefined): string {
  const { prefix, hash } = RENDERED_NAME.exec(config)?.groups ?? {};
  return formatName(prefix === undefined ? config : prefix + hash?.slice(0, hashLength));
}
