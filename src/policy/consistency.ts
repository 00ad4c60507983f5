import { type ConfigName, poolOf } from './config-name.ts';
import { counted, oneLine } from './line.ts';
import { type Labels, nodeSelectorMatches } from './label-selector.ts';
import { nearestName } from './nearest-name.ts';
import type { Referrer } from './referrer.ts';

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
export interface Snapshot {
  /** The nodes in question. */
  readonly nodes: readonly InspectedNode[];
  /** All pools. */
  readonly pools: readonly InspectedPool[];
  /** The names of all configs. */
  readonly configs: ReadonlySet<ConfigName>;
}

/** What is asked of a cluster. */
export interface Expectation {
  /** Are the nodes in question not all there are? Then only pools that choose one of them count. */
  readonly someNodes: boolean;
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
  readonly canHeal: boolean;
  /** The existing config that was probably meant. */
  readonly suggestion?: ConfigName;
  /** What is wrong, without the name of the object, for a line that begins with it. */
  readonly what: string;
}

/** A node, the pool that it belongs to, and what is wrong with it. */
export interface NodeFindings {
  readonly node: InspectedNode;
  readonly pool: string | undefined;
  readonly problems: readonly Problem[];
}

/** A pool and what is wrong with it. */
export interface PoolFindings {
  readonly pool: InspectedPool;
  readonly problems: readonly Problem[];
}

/** The judgement of a cluster. */
export interface Consistency {
  readonly ok: boolean;
  /** Not fine, and may become so by waiting. False as soon as one problem cannot. */
  readonly canHeal: boolean;
  readonly nodes: readonly NodeFindings[];
  readonly pools: readonly PoolFindings[];
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
export function consistency({ nodes, pools, configs }: Snapshot, { someNodes, minNodes }: Expectation): Consistency {
  const live = pools.filter(({ referrer }) => referrer.terminating !== true);
  // Thousands of nodes can name the same missing config.
  const nearest = new Map<ConfigName, ConfigName | undefined>();
  const missing = (config: ConfigName, field: string): Omit<Problem, 'kind' | 'name'> => {
    if (!nearest.has(config)) nearest.set(config, nearestName(config, configs));
    const suggestion = nearest.get(config);
    return {
      code: 'ConfigMissing',
      field,
      config,
      canHeal: mayAppear(config, live),
      ...(suggestion === undefined ? {} : { suggestion }),
      what: `${field} ${oneLine(config, NAME_MAX)} does not exist`,
    };
  };
  const judgedNodes = nodes.map((node): NodeFindings => {
    const pool = poolOfNode(node, live);
    const problems = nodeProblems(node.referrer, configs, missing);
    return { node, pool: pool?.referrer.name, problems };
  });
  const chosen = someNodes
    ? pools.filter(({ nodeSelector }) => nodes.some(({ labels }) => nodeSelectorMatches(nodeSelector, labels)))
    : pools;
  const judgedPools = chosen.map((pool): PoolFindings => {
    const stuck = judgedNodes.some(
      (node) => node.pool === pool.referrer.name && node.problems.some((problem) => !problem.canHeal),
    );
    return { pool, problems: poolProblems(pool.referrer, configs, missing, stuck) };
  });
  const problems = [
    ...(nodes.length < minNodes ? [tooFew(nodes.length, minNodes, someNodes)] : []),
    ...judgedNodes.flatMap((node) => node.problems),
    ...judgedPools.flatMap((pool) => pool.problems),
  ];
  return {
    ok: problems.length === 0,
    canHeal: problems.length > 0 && problems.every(({ canHeal }) => canHeal),
    nodes: judgedNodes,
    pools: judgedPools,
    problems,
  };
}

/** The config that an object names in this field. */
export function configIn(referrer: Referrer, field: string): ConfigName | undefined {
  return referrer.uses.find((use) => use.field === field)?.config;
}

/**
 * The pool whose config this node is to run: `master` before any custom pool, that before `worker` (machine-config-operator,
 * pkg/helpers/helpers.go). A node that no pool chooses belongs to the one whose config it names, as far as that can be told.
 */
function poolOfNode({ referrer, labels }: InspectedNode, pools: readonly InspectedPool[]): InspectedPool | undefined {
  const choosing = pools.filter(({ nodeSelector }) => nodeSelectorMatches(nodeSelector, labels));
  const named = (name: string | undefined, among: readonly InspectedPool[] = choosing): InspectedPool | undefined =>
    among.find((pool) => pool.referrer.name === name);
  const byLabels = named('master') ?? choosing.find((pool) => pool.referrer.name !== 'worker') ?? named('worker');
  const config = configIn(referrer, 'desiredConfig') ?? configIn(referrer, 'currentConfig');
  return byLabels ?? (config === undefined ? undefined : named(poolOf(config), pools));
}

function mayAppear(config: ConfigName, live: readonly InspectedPool[]): boolean {
  if (live.some(({ referrer }) => configIn(referrer, 'spec') === config)) return true;
  const pool = poolOf(config);
  if (pool === undefined) return false;
  // Early in an install the nodes come with the bootstrap's configs before the cluster has rendered its own.
  const own = live.find(({ referrer }) => referrer.name === pool);
  return own === undefined ? live.length === 0 : configIn(own.referrer, 'spec') === undefined;
}

type Missing = (config: ConfigName, field: string) => Omit<Problem, 'kind' | 'name'>;

function nodeProblems(referrer: Referrer, configs: ReadonlySet<ConfigName>, missing: Missing): Problem[] {
  const subject = { kind: 'Node', name: referrer.name } as const;
  const unreported = { code: 'NotReported', canHeal: true } as const;
  if (referrer.unreported === true) {
    return [{ ...subject, ...unreported, what: 'has not reported a configuration yet' }];
  }
  return ['currentConfig', 'desiredConfig'].flatMap((field): Problem[] => {
    const config = configIn(referrer, field);
    if (config === undefined) return [{ ...subject, ...unreported, field, what: `has not reported its ${field} yet` }];
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
  if (referrer.terminating === true) return [];
  const subject = { kind: 'MachineConfigPool', name: referrer.name } as const;
  return (['spec', 'status'] as const).flatMap((field): Problem[] => {
    const config = configIn(referrer, field);
    if (config !== undefined) return configs.has(config) ? [] : [{ ...subject, ...missing(config, field) }];
    const code = field === 'spec' ? 'SpecEmpty' : 'StatusEmpty';
    // The operator fills status once every machine of the pool has spec's config, which one that is stuck never gets.
    const canHeal = field === 'spec' || !stuck;
    return [{ ...subject, code, field, canHeal, what: `${field}.configuration.name is empty` }];
  });
}

function tooFew(found: number, minNodes: number, someNodes: boolean): Problem {
  const what = someNodes ? 'match the selection' : 'are in the cluster';
  const matches = someNodes ? 'matches the selection' : 'is in the cluster';
  return {
    code: 'TooFewNodes',
    canHeal: true,
    what:
      found === 0
        ? `no node ${matches}`
        : `only ${counted(found, 'node')} ${found === 1 ? matches : what}, ${minNodes} are needed`,
  };
}
