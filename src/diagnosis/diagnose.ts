import { groupBy } from '../common/group-by.ts';
import {
  findReferencedConfig,
  findUsedConfigs,
  type NodeReferrer,
  type PoolReferrer,
  REASON_FIELD,
  REFERRER_NOUNS,
} from '../mco/referrer.ts';
import { findPoolOfNode } from '../mco/pool-of-node.ts';
import {
  type ClusterSnapshot,
  findForeignConfigs,
  type InspectedNode,
  type InspectedPool,
} from './cluster-snapshot.ts';
import { findDanglingReferences } from './dangling-references.ts';
import { createNearestFinder } from './nearest-name.ts';
import type { Cluster, DiagnosisScope, Finding, MissingConfigReport, Problem, ProblemCode } from './problem.ts';
import { planMarkRemoval, planRepairs } from './repairs.ts';
import { type Rule, RULES } from './rules.ts';
import { type ConfigName, isRenderedConfig, parsePoolName } from '../mco/machine-config.ts';

/** Part of the JSON of `check`. Unknown values are null. */
export type CheckedPool = ReturnType<typeof describePool>;

const UNKNOWN_TO_GUARD: MissingConfigReport = { explanation: null, deletedAt: null, deletedBy: null };
const UNKNOWN = { field: null, config: null, evidence: null, suggestion: null, ...UNKNOWN_TO_GUARD };

export function diagnose(snapshot: ClusterSnapshot, scope: DiagnosisScope) {
  const { skippedNodes = [], overriddenConfigs = [] } = snapshot;
  const used = findUsedConfigs([...snapshot.nodes, ...snapshot.pools].map(({ referrer }) => referrer));
  const poolByNode = new Map(snapshot.nodes.map((node) => [node, findPoolOfNode(node.labels, snapshot.pools)]));
  const problemsByNode = new Map<InspectedNode, readonly Problem[]>();
  const nodesByPool = groupBy(snapshot.nodes, (node) => poolByNode.get(node)?.pool);
  const nodesOf = (pool: InspectedPool) => nodesByPool.get(pool) ?? [];
  const livePools = snapshot.pools.filter(({ referrer }) => referrer.isTerminating !== true);
  const referrers = snapshot.nodes.map(({ referrer }) => referrer);
  const dangling = findDanglingReferences(referrers, snapshot.configs);
  const foreign = [...findForeignConfigs({ ...snapshot, pools: livePools })].filter(([config, nodes]) => {
    return !snapshot.configs.has(config) && nodes.every((node) => poolByNode.get(node)?.pool !== undefined);
  });
  const cluster: Cluster = {
    ...snapshot,
    ...scope,
    livePools,
    livePoolsBySpec: groupBy(livePools, ({ referrer }) => findReferencedConfig(referrer, 'spec')),
    livePoolByName: new Map(livePools.map((pool) => [pool.referrer.name, pool])),
    poolsWithDanglingNode: new Set(dangling.map(({ config }) => parsePoolName(config))),
    nodeWithCopy: findNodesWithCopy(snapshot.nodes, (node) => poolByNode.get(node)?.selecting ?? []),
    foreignConfigs: new Set(foreign.map(([config]) => config)),
    poolOf: (node) => poolByNode.get(node) ?? findPoolOfNode(node.labels, snapshot.pools),
    nodesOf,
    problemsOfNodes: (pool) => nodesOf(pool).flatMap((node) => problemsByNode.get(node) ?? []),
    findNearest: createNearestFinder(snapshot.configs),
  };
  const ofCluster = applyRules(({ ofCluster }) => ofCluster?.(cluster));
  for (const node of snapshot.nodes)
    problemsByNode.set(
      node,
      applyRules(({ ofNode }) => ofNode?.(node, cluster), node.referrer),
    );
  const selecting = new Set([...poolByNode.values()].flatMap((found) => found.selecting));
  const selectedPools = snapshot.pools.filter((pool) => scope.selector === undefined || selecting.has(pool));
  const problemsByPool = new Map(
    selectedPools.map((pool) => {
      const isTerminating = pool.referrer.isTerminating === true;
      return [pool, isTerminating ? [] : applyRules(({ ofPool }) => ofPool?.(pool, cluster), pool.referrer)];
    }),
  );
  const problems = [ofCluster, ...problemsByNode.values(), ...problemsByPool.values()].flat();
  return {
    ok: problems.length === 0,
    recoverable: problems.length > 0 && problems.every(({ recoverable }) => recoverable),
    nodes: snapshot.nodes.map((node) => describeNode(node, cluster, problemsByNode.get(node)?.length === 0)),
    skippedNodes,
    pools: selectedPools.map((pool) => describePool(pool, problemsByPool.get(pool)?.length === 0)),
    // The configs in use that any client may delete, because of their allow-deletion annotation.
    overriddenConfigs: overriddenConfigs.filter((name) => used.has(name) && isRenderedConfig(name)),
    problems,
    repairs: [
      ...planRepairs(problems, cluster, (code) => RULES[code].repairs ?? []),
      ...selectedPools.flatMap((pool) => planMarkRemoval(pool)),
    ],
  };
}

/** The first node that names a config as its current one, or else in its reason. One of the config's pool wins. */
function findNodesWithCopy(
  nodes: readonly InspectedNode[],
  selectingPools: (node: InspectedNode) => readonly InspectedPool[],
): ReadonlyMap<ConfigName, InspectedNode> {
  const candidates = [REASON_FIELD, 'currentConfig'].flatMap((field) =>
    nodes.toReversed().flatMap((node) => {
      const config = findReferencedConfig(node.referrer, field);
      return config === undefined ? [] : [[config, node] as const];
    }),
  );
  const isOwn = ([config, node]: (typeof candidates)[number]) =>
    selectingPools(node).some(({ referrer }) => referrer.name === parsePoolName(config));
  // The last one of a config wins.
  return new Map([...candidates, ...candidates.filter(isOwn)]);
}

function applyRules(find: (rule: Rule) => readonly Finding[] | undefined, referrer?: NodeReferrer | PoolReferrer) {
  const rules = Object.entries(RULES) as [ProblemCode, Rule][];
  return rules.flatMap(([code, rule]) => (find(rule) ?? []).map((finding) => toProblem(code, finding, referrer)));
}

function toProblem(code: ProblemCode, finding: Finding, referrer?: NodeReferrer | PoolReferrer): Problem {
  const { kind = null, name = null } = referrer ?? {};
  const problem = { code, kind, name, ...UNKNOWN, message: '', ...finding };
  const place = problem.config === null || problem.field === null ? '' : ` (${problem.field})`;
  const subject = kind === null ? '' : `${REFERRER_NOUNS[kind]} ${name}${place}`;
  return { ...problem, message: RULES[code].sentence(problem, subject, false) };
}

function describeNode(node: InspectedNode, { poolOf }: Cluster, ok: boolean) {
  const { referrer, state, reason } = node;
  const { pool, conflicting } = poolOf(node);
  return {
    name: referrer.name,
    ok,
    pool: pool?.referrer.name ?? null,
    // The custom pools between which the operator does not choose.
    conflictingPools: conflicting.map((each) => each.referrer.name),
    currentConfig: findReferencedConfig(referrer, 'currentConfig') ?? null,
    desiredConfig: findReferencedConfig(referrer, 'desiredConfig') ?? null,
    state,
    reason,
  };
}

function describePool(pool: InspectedPool, ok: boolean) {
  const { referrer, paused, pausedSince, machineCount, updatedMachineCount, degradedMachineCount } = pool;
  return {
    name: referrer.name,
    ok,
    specConfig: findReferencedConfig(referrer, 'spec') ?? null,
    statusConfig: findReferencedConfig(referrer, 'status') ?? null,
    paused,
    pausedSince: pausedSince?.toISOString() ?? null,
    pausedFor: pool.pausedFor ?? null,
    terminating: referrer.isTerminating === true,
    machineCount,
    updatedMachineCount,
    degradedMachineCount,
  };
}
