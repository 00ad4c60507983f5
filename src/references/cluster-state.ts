import type { PoolReferrer, UnreportedNode } from '../mco/referrer.ts';
import type { ReferenceSummary } from './config-referrers.ts';

/** A kind of objects that could not be read. */
export interface UnreadableKind {
  /** The plural name, such as `nodes`. */
  readonly name: string;
  readonly reason: string;
  /** Whether the guard lacks the right to list it. */
  readonly isForbidden?: boolean;
}

/** What a decision about a config depends on. */
export interface ClusterState {
  /** The references to the config. */
  readonly references: ReferenceSummary;
  readonly pools: readonly PoolReferrer[];
  /** Those that the operator manages: each may be booting with the config. Not read for a denial from the index. */
  readonly unreportedNodes: readonly UnreportedNode[];
  /** Unless this is empty, no config counts as unused. */
  readonly unreadable: readonly UnreadableKind[];
  /** The time of the API server when it listed the referrers. Undefined if it listed none. */
  readonly readAt?: Date | undefined;
  /** A node with the config that the operator moves to no other one. */
  readonly stuckNode?: StuckNode | undefined;
  /** Present if exactly one node has the config, and it is known not to be Ready. */
  readonly notReadyNode?: NotReadyNode | undefined;
}

/** A node whose kubelet reports that it is not Ready, or does not report any more. */
export interface NotReadyNode {
  readonly name: string;
  /** When its condition `Ready` changed. */
  readonly since: Date;
}

/** A node in several custom pools, or in none. The operator changes its `desiredConfig` only in exactly one pool. */
export interface StuckNode {
  readonly name: string;
  /** The custom pools that select the node. Empty if no pool selects it. */
  readonly conflictingPools: readonly string[];
}
