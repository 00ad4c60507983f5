import type { Referrer } from '../mco/referrer.ts';

/** A kind of objects that could not be read. */
export interface UnreadableKind {
  readonly name: string;
  readonly reason: string;
}

/** What a decision about a config depends on. */
export interface ClusterState {
  readonly referrers: readonly Referrer[];
  /** Unless this is empty, no config counts as unused. */
  readonly unreadable: readonly UnreadableKind[];
  /** The time of the API server when it listed the referrers. Undefined if it listed none. */
  readonly readAt?: Date | undefined;
}
