import type { PoolOfNode } from '../mco/pool-of-node.ts';
import type { ClusterSnapshot, InspectedNode, InspectedPool } from './cluster-snapshot.ts';
import type { ConfigName } from '../mco/machine-config.ts';

export type ProblemCode =
  | 'TooFewNodes'
  | 'ConfigMissing'
  | 'ConfigTerminating'
  | 'NotReported'
  | 'PoolConflict'
  | 'NodeDegraded'
  | 'SpecEmpty'
  | 'StatusEmpty'
  | 'RolloutUnfinished'
  | 'PoolDegraded'
  | 'PausedForRestore';

/** What the guard knows about a missing config. Null is unknown. Part of the JSON of `check`. */
export interface MissingConfigReport {
  readonly explanation: string | null;
  readonly deletedAt: string | null;
  readonly deletedBy: string | null;
}

/** Whether the operator can solve a problem without a person. */
export interface Recovery {
  readonly recoverable: boolean;
  /** Why waiting can help, or cannot. A sentence without a period. */
  readonly recoverableReason: string;
  /** The condition or the reason that decided, quoted. */
  readonly evidence: string | null;
}

/** Part of the JSON of `check`. */
export interface Problem extends MissingConfigReport, Recovery {
  readonly code: ProblemCode;
  readonly kind: 'Node' | 'MachineConfigPool' | null;
  readonly name: string | null;
  readonly field: string | null;
  readonly config: ConfigName | null;
  readonly suggestion: ConfigName | null;
  readonly message: string;
}

export type Finding = Recovery & Partial<Problem>;

export interface DiagnosisScope {
  readonly selector?: string | undefined;
  /** Undefined means 1, and the control plane of the install-config. */
  readonly minNodes?: number | undefined;
  /** Whether all control plane nodes are in the scope. */
  readonly hasControlPlane?: boolean;
  readonly now: Date;
  readonly guardReports?: ReadonlyMap<string, Partial<MissingConfigReport>>;
}

/** A snapshot with what several rules need. There can be 50,000 nodes or 20,000 pools, so it has indexes. */
export interface Cluster extends ClusterSnapshot, DiagnosisScope {
  readonly livePools: readonly InspectedPool[];
  readonly livePoolsBySpec: ReadonlyMap<ConfigName | undefined, readonly InspectedPool[]>;
  readonly livePoolByName: ReadonlyMap<string | undefined, InspectedPool>;
  readonly poolsWithDanglingNode: ReadonlySet<string | undefined>;
  /** A node that ran the config, so its disk has a copy. */
  readonly nodeWithCopy: ReadonlyMap<ConfigName, InspectedNode>;
  /** The missing configs that `restore` rejects, because only nodes of other pools name them. */
  readonly foreignConfigs: ReadonlySet<ConfigName>;
  readonly poolOf: (node: InspectedNode) => PoolOfNode<InspectedPool>;
  readonly nodesOf: (pool: InspectedPool) => readonly InspectedNode[];
  readonly problemsOfNodes: (pool: InspectedPool) => readonly Problem[];
  readonly findNearest: (missing: string) => ConfigName | undefined;
}
