import { formatName } from '../../decision/message.ts';
import type { TableFormat } from './text-format.ts';

const RENDERED_NAME = /^(?<prefix>rendered-.+-)(?<hash>[0-9a-f]{32})$/;
const HASH_LENGTH = 8;

/**
 * Shortens the hashes in a terminal. who-uses accepts the short names. A pipe, `-o wide` and configs whose short names
 * would be the same get full names.
 */
export function createNameShortener(
  { columns, isWide }: TableFormat,
  configs: Iterable<string>,
): (config: string) => string {
  if (columns === undefined || isWide === true) return formatName;
  const names = new Set(configs);
  return new Set([...names].map(shortenName)).size === names.size ? shortenName : formatName;
}

function shortenName(config: string): string {
  const { prefix, hash } = RENDERED_NAME.exec(config)?.groups ?? {};
  return formatName(prefix === undefined ? config : prefix + hash?.slice(0, HASH_LENGTH));
}
