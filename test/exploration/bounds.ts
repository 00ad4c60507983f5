import type { ReferrerName } from './two-config-cluster.ts';

/** What a bound limits. A deadline can pass early. */
export type Event = 'writes' | 'deliveries' | 'deletions' | 'faults' | 'deadlines' | 'delays' | 'relists' | 'restarts';

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

const ALL = ['node-1', 'node-2', 'worker', 'infra'] as const;
const NODE = ['node-1'] as const;
const NODE_AND_POOL = ['node-1', 'infra'] as const;
const ANY_START = [[], ['node-1'], ['infra']] as const;
/** The pool in the names of the configs, for the hold. */
const POOL = ['worker'] as const;
/** Two delays exceed it, also rounded up to seconds. One does not. */
export const HOLD_MS = 2_000;
/** One deletion, with one late watch event. */
const ONE = { deliveries: 1, deletions: 1 };

/** The guard has watched for longer than the hold. */
const MEMORY = { starts: [[], POOL], writers: POOL, deletions: 1, holdMs: HOLD_MS, watchedMs: HOLD_MS + 2_000 };

type Bounds = Readonly<Record<string, Bound>>;

/** For `npm test`: seconds of processor time. */
export const SMALL_BOUNDS: Bounds = {
  'two writes': { ...ONE, starts: [[]], writers: ALL, writes: 2 },
  'a hold': { starts: [[], POOL], writers: POOL, writes: 2, deletions: 1, holdMs: HOLD_MS },
};

/** For `npm run test:slow`: a minute. */
const SHORT_BOUNDS: Bounds = {
  'three writes': { ...ONE, starts: ANY_START, writers: NODE_AND_POOL, writes: 3 },
  'a build': { ...ONE, starts: [[], NODE], writers: ['node-1', 'build-1'], writes: 3 },
  'two deletions': { ...ONE, starts: [[], NODE], writers: NODE, writes: 1, deletions: 2 },
  'a deadline': { starts: [[]], writers: NODE, writes: 1, deletions: 2, deadlines: 1 },
  'a fault': { ...ONE, starts: ANY_START, writers: NODE_AND_POOL, writes: 1, faults: 1 },
  'a memory': { ...MEMORY, writes: 2, deliveries: 2 },
  'a gap': { ...MEMORY, writes: 2, relists: 1 },
  'a restart': { ...MEMORY, writes: 2, restarts: 1 },
};

/** For `npm run explore`: hours. */
const LONG_BOUNDS: Bounds = {
  'three writes': { starts: ANY_START, writers: ALL, writes: 3, deliveries: 3, deletions: 1 },
  'five writes': { ...ONE, starts: ANY_START, writers: NODE_AND_POOL, writes: 5 },
  'two deletions': { ...ONE, starts: ANY_START, writers: NODE_AND_POOL, writes: 2, deletions: 2 },
  'three deletions': { starts: [NODE], writers: NODE, writes: 1, deletions: 3 },
  'two faults': { ...ONE, starts: ANY_START, writers: NODE_AND_POOL, writes: 1, faults: 2 },
  'a deadline': { ...ONE, starts: [[], NODE], writers: NODE, writes: 1, deletions: 2, deadlines: 1 },
  'a deadline and a fault': { starts: [[]], writers: NODE, writes: 1, deletions: 2, deadlines: 1, faults: 1 },
  'three delays': { starts: [[], NODE], writers: NODE, writes: 1, deletions: 1, delays: 3 },
  'two deletions and a delay': { starts: [[], NODE], writers: NODE, writes: 1, deletions: 2, delays: 1 },
  'a hold': { ...ONE, starts: [[], POOL], writers: ['worker', 'node-1'], writes: 3, holdMs: HOLD_MS },
  'a memory': { ...MEMORY, writes: 3, deliveries: 3 },
  'a memory and two delays': { ...MEMORY, starts: [POOL], writes: 2, deliveries: 2, delays: 2 },
  'a memory and a node': { ...MEMORY, writers: ['worker', 'node-1'], writes: 2, deliveries: 2 },
  'a gap': { ...MEMORY, writes: 3, deliveries: 2, relists: 1 },
  'a gap and a delay': { ...MEMORY, starts: [POOL], writes: 2, deliveries: 2, relists: 1, delays: 1 },
  'a restart': { ...MEMORY, writes: 3, deliveries: 2, restarts: 1 },
  'a restart and two delays': { ...MEMORY, starts: [POOL], writes: 2, deliveries: 2, restarts: 1, delays: 2 },
  'two replicas': { ...MEMORY, writes: 2, deliveries: 2, deletions: 2, replicas: 2 },
  'two replicas and a restart': { ...MEMORY, writes: 2, deliveries: 2, restarts: 1, replicas: 2 },
  'a hold and two delays': { starts: [POOL], writers: POOL, writes: 2, deletions: 1, delays: 2, holdMs: HOLD_MS },
};

/** `npm run explore` sets the variable. */
export const IS_LONG = process.env['MCG_EXPLORATION'] === 'long';
/** Those beyond `npm test`. */
export const LARGER_BOUNDS = IS_LONG ? LONG_BOUNDS : SHORT_BOUNDS;
