import { type ConfigName, RENDERED_PREFIX } from '../decision/config-name.ts';
import { joinFirst } from '../common/printable-text.ts';

/** Several configs begin with the text. */
export class AmbiguousName extends Error {
  override readonly name = 'AmbiguousName';
}

const MAX_NAMES = 5;

/**
 * Completes the beginning of a name, with or without `rendered-`. Returns an unknown name unchanged.
 *
 * @throws AmbiguousName
 */
export function resolveConfigName(name: ConfigName, existing: Iterable<ConfigName>): ConfigName {
  const names = [...new Set(existing)];
  if (names.includes(name)) return name;
  const prefixes = [name, `${RENDERED_PREFIX}${name}`];
  const completions = names.filter((config) => prefixes.some((prefix) => config.startsWith(prefix)));
  const [only = name, ...others] = completions;
  if (others.length === 0) return only;
  throw new AmbiguousName(
    `"${name}" begins several names: ${joinFirst(completions.toSorted(), MAX_NAMES)}; add more characters`,
  );
}
