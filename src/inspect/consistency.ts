import type { Referrer } from '../decision/references.ts';
import { type ConfigName, poolOfConfig } from '../decision/config-name.ts';
import { countNoun, toPrintableLine } from '../decision/printable-text.ts';
import { type Labels, matchesNodeSelector } from '../references/node-selector.ts';
import { findNearestName } from '../decision/nearest-name.ts';

/** The longest name in Kubernetes; an annotation may hold anything. */
const NAME_MAX = 253;

/** A node as far as its configs can be judged. */
export interface InspectedNode {
  readonly referrer: Referrer;
  readonly labels: Labels;
  /** What its machine-config-daemon says of itself: `Done`, `Working`, `Degraded` …; empty while it has said nothing. */
  readonly state: string;
  /** Why, in the daemon's words. */
  readonly reason: string;
}

/** A pool as far as its configs can be judged. */
export interface InspectedPool {
  readonly referrer: Referrer;
  readonly nodeSelector: unknown;
  readonly paused: boolean;
  readonly machineCount: number;
  readonly updatedMachineCount: number;
}

/** What was read of the cluster. The configs last: then a name that was written before they were read is among them. */
export interface ClusterSnapshot {
  /** The nodes in question. */
  readonly nodes: readonly InspectedNode[];
  /** All pools. */
  readonly pools: readonly InspectedPool[];
  /** The names of all configs. */
  readonly configs: ReadonlySet<ConfigName>;
}

/** What is asked of a cluster. */
export interface CheckScope {
  /** Are the nodes in question not all there are? Then only pools that choose one of them count. */
  readonly isPartial: boolean;
  /** Fewer nodes are not fine. At least 1: an empty selection proves nothing. */
  readonly minNodes: number;
}

/**
 * What can be wrong:
 * - `ConfigMissing`: a node or pool names a config that is not in the API.
 * - `NotReported`: a node has not written the annotation yet.
 * - `SpecEmpty`, `StatusEmpty`: a pool names no config there.
 * - `TooFewNodes`: fewer nodes than expected, none for instance.
 */
export type ProblemCode = 'ConfigMissing' | 'NotReported' | 'SpecEmpty' | 'StatusEmpty' | 'TooFewNodes';

/** One thing that is wrong. */
export interface Problem {
  readonly code: ProblemCode;
  /** Absent for `TooFewNodes`. */
  readonly kind?: 'Node' | 'MachineConfigPool';
  readonly name?: string;
  /** Where: `currentConfig`, `desiredConfig`, `spec`, `status`. Absent where it is the whole object. */
  readonly field?: string;
  /** The config that is missing. */
  readonly config?: ConfigName;
  /** May this come right without anybody doing anything? */
  readonly isRecoverable: boolean;
  /** The existing config that was probably meant. */
  readonly suggestion?: ConfigName;
  /** What is wrong, without the name of the object, for a line that begins with it. */
  readonly description: string;
}

/** A node, the pool that it belongs to, and what is wrong with it. */
export interface NodeResult {
  readonly node: InspectedNode;
  readonly pool: string | undefined;
  readonly problems: readonly Problem[];
}

/** A pool and what is wrong with it. */
export interface PoolResult {
  readonly pool: InspectedPool;
  readonly problems: readonly Problem[];
}

/** The judgement of a cluster. */
export interface ConsistencyResult {
  readonly ok: boolean;
  /** Not fine, and may become so by waiting. False as soon as one problem cannot. */
  readonly isRecoverable: boolean;
  readonly nodes: readonly NodeResult[];
  readonly pools: readonly PoolResult[];
  /** All problems: those of the selection itself, of nodes, of pools. */
  readonly problems: readonly Problem[];
}

/**
 * Does everything that these nodes and their pools name exist? Of a node: both annotations are there, and both configs. Of a
 * pool: spec and status name a config, and both exist. Nothing else decides: neither a node's state nor readiness, a pool
 * that is paused, nor a node between two configs that both exist.
 *
 * A missing config comes back by itself only where the operator renders it: where the spec of a pool that is not being
 * deleted names it, or the pool that it was rendered for has not been rendered at all yet.
 */
export function checkConsistency(
  { nodes, pools, configs }: ClusterSnapshot,
  { isPartial, minNodes }: CheckScope,
): ConsistencyResult {
  const live = pools.filter(({ referrer }) => referrer.isTerminating !== true);
  // Thousands of nodes can name the same missing config.
  const nearest = new Map<ConfigName, ConfigName | undefined>();
  const missing = (config: ConfigName, field: string): Omit<Problem, 'kind' | 'name'> => {
    if (!nearest.has(config)) nearest.set(config, findNearestName(config, configs));
    const suggestion = nearest.get(config);
    return {
      code: 'ConfigMissing',
      field,
      config,
      isRecoverable: mayAppear(config, live),
      ...(suggestion === undefined ? {} : { suggestion }),
      description: `${field} ${toPrintableLine(config, NAME_MAX)} does not exist`,
    };
  };
  const judgedNodes = nodes.map((node): NodeResult => {
    const pool = poolOfNode(node, live);
    const problems = nodeProblems(node.referrer, configs, missing);
    return { node, pool: pool?.referrer.name, problems };
  });
  const chosen = isPartial
    ? pools.filter(({ nodeSelector }) => nodes.some(({ labels }) => matchesNodeSelector(nodeSelector, labels)))
    : pools;
  const judgedPools = chosen.map((pool): PoolResult => {
    const stuck = judgedNodes.some(
      (node) => node.pool === pool.referrer.name && node.problems.some((problem) => !problem.isRecoverable),
    );
    return { pool, problems: poolProblems(pool.referrer, configs, missing, stuck) };
  });
  const problems = [
    ...(nodes.length < minNodes ? [tooFew(nodes.length, minNodes, isPartial)] : []),
    ...judgedNodes.flatMap((node) => node.problems),
    ...judgedPools.flatMap((pool) => pool.problems),
  ];
  return {
    ok: problems.length === 0,
    isRecoverable: problems.length > 0 && problems.every(({ isRecoverable }) => isRecoverable),
    nodes: judgedNodes,
    pools: judgedPools,
    problems,
  };
}

/** The config that an object names in this field. */
export function findReferencedConfig(referrer: Referrer, field: string): ConfigName | undefined {
  return referrer.references.find((use) => use.field === field)?.config;
}

/**
 * The pool whose config this node is to run: `master` before any custom pool, that before `worker` (machine-config-operator,
 * pkg/helpers/helpers.go). A node that no pool chooses belongs to the one whose config it names, as far as that can be told.
 */
function poolOfNode({ referrer, labels }: InspectedNode, pools: readonly InspectedPool[]): InspectedPool | undefined {
  const choosing = pools.filter(({ nodeSelector }) => matchesNodeSelector(nodeSelector, labels));
  const named = (name: string | undefined, among: readonly InspectedPool[] = choosing): InspectedPool | undefined =>
    among.find((pool) => pool.referrer.name === name);
  const byLabels = named('master') ?? choosing.find((pool) => pool.referrer.name !== 'worker') ?? named('worker');
  const config = findReferencedConfig(referrer, 'desiredConfig') ?? findReferencedConfig(referrer, 'currentConfig');
  return byLabels ?? (config === undefined ? undefined : named(poolOfConfig(config), pools));
}

function mayAppear(config: ConfigName, live: readonly InspectedPool[]): boolean {
  if (live.some(({ referrer }) => findReferencedConfig(referrer, 'spec') === config)) return true;
  const pool = poolOfConfig(config);
  if (pool === undefined) return false;
  // Early in an install the nodes come with the bootstrap's configs before the cluster has rendered its own.
  const own = live.find(({ referrer }) => referrer.name === pool);
  return own === undefined ? live.length === 0 : findReferencedConfig(own.referrer, 'spec') === undefined;
}

type Missing = (config: ConfigName, field: string) => Omit<Problem, 'kind' | 'name'>;

function nodeProblems(referrer: Referrer, configs: ReadonlySet<ConfigName>, missing: Missing): Problem[] {
  const subject = { kind: 'Node', name: referrer.name } as const;
  const unreported = { code: 'NotReported', isRecoverable: true } as const;
  if (referrer.isUnreported === true) {
    return [{ ...subject, ...unreported, description: 'has not reported a configuration yet' }];
  }
  return ['currentConfig', 'desiredConfig'].flatMap((field): Problem[] => {
    const config = findReferencedConfig(referrer, field);
    if (config === undefined)
      return [{ ...subject, ...unreported, field, description: `has not reported its ${field} yet` }];
    return configs.has(config) ? [] : [{ ...subject, ...missing(config, field) }];
  });
}

function poolProblems(
  referrer: Referrer,
  configs: ReadonlySet<ConfigName>,
  missing: Missing,
  stuck: boolean,
): Problem[] {
  // Its fields no longer count: see poolReferrer.
  if (referrer.isTerminating === true) return [];
  const subject = { kind: 'MachineConfigPool', name: referrer.name } as const;
  return (['spec', 'status'] as const).flatMap((field): Problem[] => {
    const config = findReferencedConfig(referrer, field);
    if (config !== undefined) return configs.has(config) ? [] : [{ ...subject, ...missing(config, field) }];
    const code = field === 'spec' ? 'SpecEmpty' : 'StatusEmpty';
    // The operator fills status once every machine of the pool has spec's config, which one that is stuck never gets.
    const isRecoverable = field === 'spec' || !stuck;
    return [{ ...subject, code, field, isRecoverable, description: `${field}.configuration.name is empty` }];
  });
}

function tooFew(found: number, minNodes: number, isPartial: boolean): Problem {
  const what = isPartial ? 'match the selection' : 'are in the cluster';
  const matches = isPartial ? 'matches the selection' : 'is in the cluster';
  return {
    code: 'TooFewNodes',
    isRecoverable: true,
    description:
      found === 0
        ? `no node ${matches}`
        : `only ${countNoun(found, 'node')} ${found === 1 ? matches : what}, ${minNodes} are needed`,
  };
}
