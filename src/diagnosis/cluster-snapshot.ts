import { groupBy } from '../common/group-by.ts';
import type { ManagedWrite } from '../kube/api-object.ts';
import type { DaemonReason } from './daemon-reason.ts';
import { type ConfigName, parsePoolName } from '../mco/machine-config.ts';
import { findPoolOfNode, type Labels } from '../mco/pool-of-node.ts';
import {
  type BuildReferrer,
  findUsedConfigs,
  type NodeReferrer,
  type PoolReferrer,
  type Referrer,
} from '../mco/referrer.ts';

/** A condition as most kinds of Kubernetes report it. Absent or malformed texts are empty. */
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  /** The message, or else the reason. */
  readonly message: string;
  readonly since: Date | undefined;
}

export interface NodeReadiness {
  readonly isReady: boolean;
  /** The last transition of the condition `Ready`. */
  readonly since: Date | undefined;
  /** Whether the kubelet itself has said that it is not ready. A lost one says nothing. */
  readonly isReported: boolean;
  /** Of the condition, such as `Kubelet stopped posting node status.` */
  readonly message: string;
}

export interface InspectedNode extends NodeReferrer {
  /** As its references have it. Undefined if the annotation is absent. */
  readonly currentConfig: ConfigName | undefined;
  readonly desiredConfig: ConfigName | undefined;
  /** The operator wants another OS image than the node has, in image mode or after it. */
  readonly hasNewImage?: boolean;
  /** When the operator or the daemon last wrote an annotation of the node, or any client its desired config. */
  readonly movedAt?: Date | undefined;
  readonly labels: Labels;
  readonly createdAt: Date | undefined;
  /** As the machine-config-daemon reports it, such as `Done`. Empty before. */
  readonly daemonState: string;
  readonly reason: string;
  readonly daemonReason: DaemonReason;
  readonly currentConfigWrite?: ManagedWrite | undefined;
  readonly desiredConfigWrite?: ManagedWrite | undefined;
  /** The daemon asks for a drain, and the controller has not finished it. */
  readonly drain?: { readonly since: Date | undefined } | undefined;
  /** Whether the controller has finished the drain for the present update. */
  readonly isDrained?: boolean;
  /** Present if the node is unschedulable. The write is undefined if `managedFields` does not tell. */
  readonly cordon?: { readonly write: ManagedWrite | undefined } | undefined;
  /** Undefined if the node has no condition `Ready`. */
  readonly readiness?: NodeReadiness | undefined;
  /** Those that its deletion waits for. Undefined if it is not being deleted. */
  readonly finalizers?: readonly string[] | undefined;
  /** A condition other than `Ready` for which the operator counts the node as unavailable. */
  readonly pressure?: Condition | undefined;
}

export interface InspectedPool extends PoolReferrer {
  /** As its references have it. Undefined if the field is empty. */
  readonly specConfig: ConfigName | undefined;
  readonly statusConfig: ConfigName | undefined;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly createdAt: Date | undefined;
  readonly paused: boolean;
  /** The last write of `spec.paused`, while it is true. */
  readonly pause: ManagedWrite | undefined;
  /** The config for which `restore` paused the pool. Absent if another client paused it. */
  readonly pausedFor?: string;
  /** How many control plane machines that restore waits for, if a person has said it. */
  readonly pausedForMachines?: number | undefined;
  readonly machineCount: number;
  readonly updatedMachineCount: number;
  readonly degradedMachineCount: number;
  readonly unavailableMachineCount: number;
  /** When a client last wrote the spec, or the operator the status, or a condition about the roll-out changed. */
  readonly movedAt: Date | undefined;
  readonly labels: Labels;
  /** As the API has them: it accepts values that the operator rejects. */
  readonly machineConfigSelector: unknown;
  readonly maxUnavailable: number | string | undefined;
  /** Those that are True, by type. The operator combines several, such as RenderDegraded, in Degraded. */
  readonly conditions: Readonly<Partial<Record<string, Condition>>>;
  readonly sources: readonly string[];
}

/** A MachineOSBuild: one build of the OS image of a pool in image mode. */
export interface InspectedBuild extends BuildReferrer {
  /** The MachineOSConfig that it belongs to. */
  readonly osConfig: string | undefined;
  /** The message of the condition `Failed` or `Interrupted`. Undefined unless one of them is True. */
  readonly failure: string | undefined;
  readonly isSuccessful: boolean;
  /** The image that it has pushed, by its digest. */
  readonly image: string;
  readonly createdAt: Date | undefined;
}

/** A MachineOSConfig: it puts a pool into image mode. */
export interface InspectedOsConfig {
  readonly name: string;
  readonly pool: string;
  /** The build in its annotation `current-machine-os-build`. */
  readonly currentBuild: string | undefined;
  /** The image that the nodes of the pool get. */
  readonly image: string;
  /** Its annotation `rebuild` asks for another build. The operator removes it when that starts. */
  readonly rebuild?: { readonly since: Date | undefined } | undefined;
}

export interface PendingCertificateRequest {
  readonly name: string;
  /** Null if neither the user nor the request names a node, or no node can have the name. */
  readonly node: string | null;
  readonly signer: string;
  /** When its kubelet began to ask. It asks anew every 15 minutes, and only the newest request is listed. */
  readonly createdAt: string | null;
}

/** How many control plane machines the install-config wants. */
export interface ControlPlaneSize {
  readonly masters: number;
  readonly arbiters: number;
}

/** A part of the operator that does not run. */
export interface StoppedOperator {
  /** The name of its Deployment. */
  readonly deployment: string;
  /** A clause, such as `has 0 replicas`. */
  readonly state: string;
  readonly isScaledToZero: boolean;
}

/** A PodDisruptionBudget that allows no eviction of pods on a node. */
export interface BlockingBudget {
  readonly namespace: string;
  readonly name: string;
  /** The names of those that select the same pods. The API server then evicts none of them. */
  readonly others?: readonly string[];
  readonly pods: readonly string[];
  /** Whether it allows one once more of its pods are healthy, or once the virtual machine has migrated. */
  readonly isTemporary?: boolean;
  /** Whether Kubernetes counts none of its pods, because they belong to no controller that it knows. */
  readonly isUncounted?: boolean;
  /** Whether its pods run virtual machines. An eviction is rejected, and starts the migration (kubevirt, virt-api). */
  readonly isOfMachine?: boolean;
}

/** What holds back the drain of a node. */
export interface DrainObstacles {
  readonly budgets: readonly BlockingBudget[];
  /** The evicted pods that have not ended, as NAMESPACE/NAME: those that are late, or else all. */
  readonly endingPods: readonly string[];
  /** When the last of them must have ended. Undefined if one is late. */
  readonly graceEnd?: Date | undefined;
  /** Nothing holds it back any more, so the next attempt can end it. */
  readonly isFree?: boolean;
}

/**
 * A KubeletConfig or a ContainerRuntimeConfig that failed, so that the operator writes no MachineConfig from it, or a
 * MachineOSConfig of a pool that does not exist.
 */
export interface FailedSource {
  readonly kind: string;
  readonly name: string;
  /** Of its last condition. */
  readonly message: string;
  /** The names of the pools for which the operator then renders no config. */
  readonly pools: readonly string[];
}

/** The configs are listed last: a missing config did not exist after the references were read. */
export interface ClusterSnapshot {
  readonly nodes: readonly InspectedNode[];
  readonly skippedNodes?: readonly string[];
  readonly pools: readonly InspectedPool[];
  readonly builds?: readonly InspectedBuild[];
  readonly osConfigs?: readonly InspectedOsConfig[];
  /** The configs that are not being deleted. */
  readonly configs: ReadonlySet<ConfigName>;
  readonly terminatingConfigs: ReadonlySet<ConfigName>;
  readonly createdAt?: ReadonlyMap<ConfigName, Date>;
  /** Those whose allow-deletion annotation gives a reason. */
  readonly overriddenConfigs?: readonly ConfigName[];
  /** The MachineConfigs from which the operator renders those of pools. */
  readonly sources?: readonly { readonly name: string; readonly labels: Labels; readonly createdAt?: Date }[];
  readonly pendingRequests?: readonly PendingCertificateRequest[];
  /** Undefined if unknown. */
  readonly controlPlaneSize?: ControlPlaneSize | undefined;
  /** The resources that the user may not read, such as `machineosbuilds`. Nothing is known about them. */
  readonly unreadable?: readonly string[];
  readonly stoppedOperators?: readonly StoppedOperator[];
  /** By the name of the node. Without an entry, they were not read. */
  readonly drainObstacles?: ReadonlyMap<string, DrainObstacles>;
  readonly failedSources?: readonly FailedSource[];
  /** The condition `Degraded` of the ClusterOperator. Its reason is the failed step, such as `RequiredPoolsFailed`. */
  readonly operatorFailure?: Condition | undefined;
}

type NodesAndPools = Pick<ClusterSnapshot, 'nodes' | 'pools'>;

/** Longer than every install. The bootstrap host is then a node, or gone. */
const MAX_INSTALL_MS = 24 * 3_600_000;

export const CONTROL_PLANE_POOL = 'master';
/** Its nodes run etcd and no other part of the control plane (OpenShift 4.20). */
const ARBITER_POOL = 'arbiter';

/** Of the API server, for the certificate with which a kubelet registers and works as its node. */
const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';

/** Whether a request is for the identity of a node, and not only for the certificate of its kubelet's own server. */
export function isForClient({ signer }: PendingCertificateRequest): boolean {
  return signer === CLIENT_SIGNER;
}

/** Whether the last update of a node has failed (machine-config-operator, pkg/daemon/constants). */
export function hasFailed({ daemonState }: InspectedNode): boolean {
  return daemonState === 'Degraded' || daemonState === 'Unreconcilable';
}

/** A node never moves between such a pool and another one. */
export function isPoolOfControlPlane(pool: string | null | undefined): boolean {
  return pool === CONTROL_PLANE_POOL || pool === ARBITER_POOL;
}

/** Everything that can name a config. All commands and the guard count the strong references of these. */
export function listReferrers({
  nodes,
  pools,
  builds = [],
}: NodesAndPools & Pick<ClusterSnapshot, 'builds'>): Referrer[] {
  return [...nodes, ...pools, ...builds];
}

/** The config to which the operator moves the nodes of a pool, or else its last one. Undefined if neither exists. */
export function findConfigOfPool(
  { specConfig, statusConfig }: InspectedPool,
  { configs }: ClusterSnapshot,
): ConfigName | undefined {
  return [specConfig, statusConfig].find((config) => config !== undefined && configs.has(config));
}

/** How many control plane machines of each pool have not joined. Empty if none is missing, or if it is unknown. */
export function countMissingMachines(
  size: ControlPlaneSize | undefined,
  { nodes, pools }: NodesAndPools,
): ReadonlyMap<string, number> {
  if (size === undefined) return new Map();
  // A node that has reported no config has not joined.
  const joined = nodes.filter((node) => (node.currentConfig ?? node.desiredConfig) !== undefined);
  const poolNames = joined.map(({ labels }) => findPoolOfNode(labels, pools).pool?.name);
  const wanted = Object.entries({ [CONTROL_PLANE_POOL]: size.masters, [ARBITER_POOL]: size.arbiters });
  const missing = wanted.map(
    ([pool, count]) => [pool, count - poolNames.filter((name) => name === pool).length] as const,
  );
  return new Map(missing.filter(([, count]) => count > 0));
}

/** Whether the cluster is so young that an install can still run. */
export function canHaveBootstrapHost({ nodes, pools }: NodesAndPools, now: Date): boolean {
  return [...nodes, ...pools].every(({ createdAt = now }) => now.getTime() - createdAt.getTime() < MAX_INSTALL_MS);
}

/** The configs whose pool exists, but only nodes of other pools name them, with these nodes. */
export function findForeignConfigs({ nodes, pools }: NodesAndPools): ReadonlyMap<ConfigName, readonly InspectedNode[]> {
  const namedByPools = findUsedConfigs(pools);
  const poolByName = new Map<string | undefined, InspectedPool>(pools.map((pool) => [pool.name, pool]));
  const naming = nodes.flatMap((node) => [...findUsedConfigs([node])].map((config) => ({ node, config })));
  const groups = [...groupBy(naming, ({ config }) => config)].filter(([config, group]) => {
    const pool = poolByName.get(parsePoolName(config));
    if (pool === undefined || namedByPools.has(config)) return false;
    return group.every(({ node }) => !findPoolOfNode(node.labels, pools).selecting.includes(pool));
  });
  return new Map(groups.map(([config, group]) => [config, group.map(({ node }) => node)]));
}
