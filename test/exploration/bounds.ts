import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { ReferrerName } from './two-config-cluster.ts';

/** What a bound limits. A deadline can pass early. */
export type Event =
  'writes' | 'deliveries' | 'malformed' | 'deletions' | 'faults' | 'deadlines' | 'delays' | 'relists' | 'restarts';

/** The explored schedules: all with at most so many events. */
export interface Bound extends Partial<Readonly<Record<Event, number>>> {
  /** The referrers of A at the start. All others name B. */
  readonly starts: readonly (readonly ReferrerName[])[];
  readonly writers: readonly ReferrerName[];
  readonly holdMs?: number;
  /** How long the guard has watched at the start. Then the condition of a pool also flips without a roll-out. */
  readonly watchedMs?: number;
  readonly replicas?: 2;
}

type Bounds = Readonly<Record<string, Bound>>;

const { small, short, long } = parse(readFileSync(new URL('bounds.yaml', import.meta.url), 'utf8'), {
  merge: true,
}) as Readonly<Record<'small' | 'short' | 'long', Bounds>>;

/** That of the bounds. */
export const HOLD_MS = 2_000;
/** Those of `npm test`. */
export const SMALL_BOUNDS = small;
/** `npm run explore` sets the variable. */
export const IS_LONG = process.env['MCG_EXPLORATION'] === 'long';
/** Those beyond `npm test`. */
export const LARGER_BOUNDS = IS_LONG ? long : short;
