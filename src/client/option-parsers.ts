import { InvalidArgumentError, Option } from 'commander';
import { joinFirst } from '../common/printable-text.ts';
import { parseDuration } from '../common/duration.ts';
import { isHold } from '../api/settings.ts';
import { parseOpenShiftVersion } from '../install/kubernetes-version.ts';
import { CliError, EXIT_CODE } from './exit.ts';
import { type ConfigName, RENDERED_PREFIX, toConfigName } from '../mco/machine-config.ts';

/** Accepts the values that pass the test of a pattern, or of a function. */
export function createParser(rule: Pick<RegExp, 'test'>, problem: string): (value: string) => string {
  return (value) => {
    if (!rule.test(value)) throw new InvalidArgumentError(problem);
    return value;
  };
}

/** An empty value is usually a variable that is not set. */
export const parseText = createParser(/\S/, 'Must not be empty.');

/** For a flag that can be repeated. */
export function collect(parse: (value: string) => string) {
  return (value: string, others: readonly string[] = []): readonly string[] => [...others, parse(value)];
}

/** For a flag whose values a person could expect to be combined, although the last one would win. */
export function rejectRepetition(parse: (value: string) => string) {
  return (value: string, previous?: string): string => {
    if (previous !== undefined) throw new InvalidArgumentError('Must be given once.');
    return parse(value);
  };
}

/** A supported version of OpenShift, such as `4.18` or `4.18.3`, without a leading `v`. */
export function parseVersionOption(value: string): string {
  try {
    parseOpenShiftVersion(value);
  } catch (error) {
    throw error instanceof RangeError ? new InvalidArgumentError(error.message) : error;
  }
  return value.replace(/^v/, '');
}

export function createNumberParser(min: number, max: number, problem: string): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < min || number > max) throw new InvalidArgumentError(problem);
    return number;
  };
}

export const parseCount = createNumberParser(1, 999_999, 'Must be a whole number of at least 1.');

export const parseHold = createParser({ test: isHold }, 'Must be a duration of at most 720h, such as 0s, 30m or 24h.');

/** 0 lets the system choose a free port. */
export const parsePort = createNumberParser(0, 65_535, 'Must be a port from 0 to 65535.');

/** Of a timer, 24 days. Node.js takes a longer one for 1 ms. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Parses durations such as `1m30s` to milliseconds, at most 24 days. As in kubectl's --request-timeout, a number means
 * seconds.
 */
export function parseDurationOption(value: string): number {
  const ms = parseDuration(/^\d+$/.test(value) ? `${value}s` : value);
  if (ms === undefined) throw new InvalidArgumentError('Must be a duration, such as 5s, 500ms or 1m30s.');
  return Math.min(ms, MAX_TIMER_MS);
}

/** Of a command with `--wait`, which the flag includes. */
export function createTimeoutOption(defaultValue: string): Option {
  const option = new Option('--timeout <duration>', 'maximum time to wait; implies --wait');
  return toDurationOption(option, defaultValue).implies({ wait: true });
}

export function toDurationOption(option: Option, defaultValue: string): Option {
  return option.default(parseDuration(defaultValue), defaultValue).argParser(parseDurationOption);
}

/** @param hasNames whether the report lists objects */
export function createOutputOption(hasNames = false): Option {
  const names = hasNames ? '; name prints one name per line; wide prints more columns' : '';
  return new Option('-o, --output <format>', `output format${names}`)
    .choices(['text', 'json', ...(hasNames ? ['name', 'wide'] : []), 'yaml'])
    .default('text');
}

/** `oc get machineconfig -o name` prints a prefix that ends with a slash. */
export function parseConfigName(value: string): ConfigName {
  const name = value.replace(/^(?:mc|machineconfigs?)\b[^/]*\//i, '');
  if (name.includes('/'))
    throw new CliError(`"${value}" is not a MachineConfig; for a copy on a node, use restore --from`, EXIT_CODE.usage);
  if (name.trim() === '') throw new CliError('config name must not be empty', EXIT_CODE.usage);
  return toConfigName(name);
}

/** Completes an unambiguous beginning of a name, with or without `rendered-`. Returns an unknown name unchanged. */
export function resolveConfigName(name: ConfigName, existing: Iterable<ConfigName>): ConfigName {
  const names = [...new Set(existing)];
  if (names.includes(name)) return name;
  const prefixes = [name, `${RENDERED_PREFIX}${name}`];
  const completions = names.filter((config) => prefixes.some((prefix) => config.startsWith(prefix)));
  const [only = name, ...others] = completions;
  if (others.length === 0) return only;
  const choices = joinFirst(completions.toSorted());
  throw new CliError(`"${name}" begins several names: ${choices}; add more characters`, EXIT_CODE.usage);
}
