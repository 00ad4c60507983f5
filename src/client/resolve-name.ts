import { type ConfigName, RENDERED_PREFIX } from '../decision/references.ts';
import { joinFirst } from '../common/printable-text.ts';
import { CliError, EXIT_CODE } from './exit.ts';

const MAX_NAMES = 5;

/** Completes an unambiguous beginning of a name, with or without `rendered-`. Returns an unknown name unchanged. */
export function resolveConfigName(name: ConfigName, existing: Iterable<ConfigName>): ConfigName {
  const names = [...new Set(existing)];
  if (names.includes(name)) return name;
  const prefixes = [name, `${RENDERED_PREFIX}${name}`];
  const completions = names.filter((config) => prefixes.some((prefix) => config.startsWith(prefix)));
  const [only = name, ...others] = completions;
  if (others.length === 0) return only;
  const choices = joinFirst(completions.toSorted(), MAX_NAMES);
  throw new CliError(`"${name}" begins several names: ${choices}; add more characters`, EXIT_CODE.usage);
}
