import { InvalidArgumentError } from 'commander';
import { MAX_DAYS } from '../certificates/validity.ts';
import { parseDuration } from '../decision/duration.ts';

/** A TCP port; 0 lets the system pick a free one. */
export function parsePort(value: string): number {
  const number = Number(value);
  if (!/^\d{1,5}$/.test(value) || number > 65_535)
    throw new InvalidArgumentError('A port is a number from 0 to 65535.');
  return number;
}

/** A duration such as `5s`, `500ms` or `1m30s`, in milliseconds. */
export function parseDurationOption(value: string): number {
  const ms = parseDuration(value);
  if (ms === undefined) throw new InvalidArgumentError('A duration looks like 5s, 500ms or 1m30s.');
  return ms;
}

/** For how many days a certificate is valid. */
export function parseDays(value: string): number {
  const count = Number(value);
  if (!/^\d+$/.test(value) || count < 1 || count > MAX_DAYS) {
    throw new InvalidArgumentError(`A whole number from 1 to ${MAX_DAYS} is needed.`);
  }
  return count;
}
