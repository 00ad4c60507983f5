import { InvalidArgumentError, Option } from 'commander';
import { MAX_DAYS } from '../certificates/validity.ts';
import { parseDuration } from '../decision/duration.ts';
import { CliError, EXIT_CODE } from './exit.ts';

/** Parses a TCP port; 0 lets the system choose a free one. */
export function parsePort(value: string): number {
  const port = Number(value);
  if (!/^\d{1,5}$/.test(value) || port > 65_535) throw new InvalidArgumentError('A port is a number from 0 to 65535.');
  return port;
}

/** Parses a duration such as `5s`, `500ms` or `1m30s` into milliseconds. */
export function parseDurationOption(value: string): number {
  const ms = parseDuration(value);
  if (ms === undefined) throw new InvalidArgumentError('A duration looks like 5s, 500ms or 1m30s.');
  return ms;
}

/** Parses the number of days for which a certificate is valid. */
export function parseDays(value: string): number {
  const days = Number(value);
  if (!/^\d+$/.test(value) || days < 1 || days > MAX_DAYS) {
    throw new InvalidArgumentError(`A whole number from 1 to ${MAX_DAYS} is needed.`);
  }
  return days;
}

/** Rejects an empty `--out`, which would mean the current directory. */
export function parseOutputDirectory(value: string): string {
  if (value === '') throw new CliError('--out needs the name of a directory.', EXIT_CODE.usage);
  return value;
}

/** Creates an option that an environment variable can set, too: `MCG_SECURE_PORT` sets `--secure-port`. */
export function createEnvOption<T>(
  flags: string,
  description: string,
  parse?: (value: string) => T,
  defaultValue?: T,
): Option {
  const option = new Option(flags, description).default(defaultValue);
  if (parse !== undefined) option.argParser(parse);
  return option.env(`MCG_${option.name().replaceAll('-', '_').toUpperCase()}`);
}
