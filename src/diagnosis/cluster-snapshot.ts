import { groupBy } from '../common/group-by.ts';
import {
  findReferencedConfig,
  findUsedConfigs,
  NODE_FIELDS,
  type NodeReferrer,
  type PoolReferrer,
} from '../mco/referrer.ts';
import { findPoolOfNode, type Labels } from '../mco/pool-of-node.ts';
import { type ConfigName, parsePoolName } from '../mco/machine-config.ts';

export interface InspectedNode {
  readonly referrer: NodeReferrer;
  readonly labels: Labels;
  /** As the machine-config-daemon reports it, such as `Done`. Empty before. */
  readonly state: string;
  readonly reason: string;
  /** When the owner of `currentConfig` last changed what it owns. */
  readonly namedAt?: Date | undefined;
}

export interface PoolCondition {
  readonly message: string;
  readonly since: Date | undefined;
}

export interface InspectedPool {
  readonly referrer: PoolReferrer;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly createdAt: Date | undefined;
  readonly paused: boolean;
  readonly pausedSince: Date | undefined;
  /** The config for which `restore` paused the pool. Absent if a person paused it. */
  readonly pausedFor?: string;
  readonly machineCount: number;
  readonly updatedMachineCount: number;
  readonly degradedMachineCount: number;
  /** The operator combines RenderDegraded and NodeDegraded in Degraded. */
  readonly conditions: Readonly<Partial<Record<'Degraded' | 'NodeDegraded' | 'RenderDegraded', PoolCondition>>>;
  readonly sources: readonly string[];
}

export interface PendingCertificateRequest {
  readonly name: string;
  /** Null if neither the user nor the request names a node, or no node can have the name. */
  readonly node: string | null;
  readonly signer: string;
  readonly createdAt: string | null;
}

/** The configs are listed last: a missing config did not exist after the references were read. */
export interface ClusterSnapshot {
  readonly nodes: readonly InspectedNode[];
  readonly skippedNodes?: readonly string[];
  readonly pools: readonly InspectedPool[];
  /** The configs that are not being deleted. */
  readonly configs: ReadonlySet<ConfigName>;
  readonly terminatingConfigs: ReadonlySet<ConfigName>;
  readonly createdAt?: ReadonlyMap<ConfigName, Date>;
  /** Those whose allow-deletion annotation gives a reason. */
  readonly overriddenConfigs?: readonly ConfigName[];
  readonly pendingRequests?: readonly PendingCertificateRequest[];
  /** The wanted number of control plane machines. Undefined if unknown. */
  readonly controlPlaneReplicas?: number | undefined;
}

/** Longer than every install. The bootstrap host is then a node, or gone. */
const MAX_INSTALL_MS = 24 * 3_600_000;

export const CONTROL_PLANE_POOL = 'master';

/** The config to which the operator moves the nodes of a pool, or else its last one. Undefined if neither exists. */
export function findConfigOfPool({ referrer }: InspectedPool, { configs }: ClusterSnapshot): ConfigName | undefined {
  const named = ['spec', 'status'].map((field) => findReferencedConfig(referrer, field));
  return named.find((config) => config !== undefined && configs.has(config));
}

/** The nodes of a pool by the rule of the operator that have reported a config. */
export function findJoinedNodes(name: string, { nodes, pools }: Pick<ClusterSnapshot, 'nodes' | 'pools'>) {
  return nodes.filter(
    ({ referrer, labels }) =>
      NODE_FIELDS.some((field) => findReferencedConfig(referrer, field) !== undefined) &&
      findPoolOfNode(labels, pools).pool?.referrer.name === name,
  );
}

export function canHaveBootstrapHost({ pools }: Pick<ClusterSnapshot, 'pools'>, now: Date): boolean {
  return pools.every(({ createdAt = now }) => now.getTime() - createdAt.getTime() < MAX_INSTALL_MS);
}

/** The configs whose pool exists, but only nodes of other pools name them, with these nodes. */
export function findForeignConfigs({ nodes, pools }: Pick<ClusterSnapshot, 'nodes' | 'pools'>) {
  const namedByPools = findUsedConfigs(pools.map(({ referrer }) => referrer));
  const poolByName = new Map<string | undefined, InspectedPool>(pools.map((pool) => [pool.referrer.name, pool]));
  const naming = nodes.flatMap((node) => [...findUsedConfigs([node.referrer])].map((config) => ({ node, config })));
  const groups = [...groupBy(naming, ({ config }) => config)].filter(([config, group]) => {
    const pool = poolByName.get(parsePoolName(config));
    if (pool === undefined || namedByPools.has(config)) return false;
    return group.every(({ node }) => !findPoolOfNode(node.labels, pools).selecting.includes(pool));
  });
  return new Map(groups.map(([config, group]) => [config, group.map(({ node }) => node)]));
}
