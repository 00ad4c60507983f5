import { RENDERED_PREFIX } from '../decision/config-name.ts';
import { formatName } from '../decision/message.ts';

const RENDERED_NAME = /^(?<prefix>rendered-.+-)(?<hash>[0-9a-f]{32})$/;
/** Eight digits suffice, unless a name is misspelled. */
const HASH_LENGTHS = [8, 12, 16, 32];

/** Shortens the hashes. All short names stay distinct. */
export function createNameShortener(configs: Iterable<string>): (config: string) => string {
  const names = [...new Set(configs)];
  const hashLength = HASH_LENGTHS.find((length) => {
    return areDistinct(names.map((name) => shortenName(name, length)));
  });
  return (config) => shortenName(config, hashLength);
}

/** Also removes `rendered-`, for a narrow terminal. who-uses accepts such a name. */
export function createNarrowNameShortener(configs: Iterable<string>): (config: string) => string {
  const names = [...new Set(configs)];
  const shorten = createNameShortener(names);
  const narrow = (config: string): string => shorten(config).slice(RENDERED_PREFIX.length);
  const isPossible = names.every((name) => name.startsWith(RENDERED_PREFIX)) && areDistinct(names.map(narrow));
  return isPossible ? narrow : shorten;
}

/** Removes the domains of nodes, if the rest is a name and stays distinct. */
export function createHostShortener(nodes: readonly string[]): (node: string) => string {
  const hosts = nodes.map(removeDomain);
  const isPossible = hosts.every((host) => /[a-z]/.test(host)) && areDistinct(hosts);
  return isPossible ? removeDomain : (node) => node;
}

function removeDomain(node: string): string {
  return node.replace(/\..*$/, '');
}

function areDistinct(names: readonly string[]): boolean {
  return new Set(names).size === names.length;
}

function shortenName(config: string, hashLength: number | undefined): string {
  const { prefix, hash } = RENDERED_NAME.exec(config)?.groups ?? {};
  return formatName(prefix === undefined ? config : prefix + hash?.slice(0, hashLength));
}
