import { formatName } from '../decision/message.ts';
import type { TableFormat } from './text-format.ts';

const RENDERED_NAME = /^(?<prefix>rendered-.+-)(?<hash>[0-9a-f]{32})$/;
/** Eight digits suffice, unless a name is misspelled. */
const HASH_LENGTHS = [8, 12, 16, 32];

/**
 * Shortens the hashes in a terminal. All short names stay distinct, and who-uses accepts them. A pipe and `-o wide` get
 * full names.
 */
export function createNameShortener(
  { columns, isWide }: TableFormat,
  configs: Iterable<string>,
): (config: string) => string {
  if (columns === undefined || isWide === true) return formatName;
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
