import { type ConfigName, parsePoolName, toConfigName } from '../../decision/config-name.ts';
import { formatName } from '../../decision/message.ts';
import { findNearestName } from '../../status/nearest-name.ts';
import { countNoun } from '../../common/printable-text.ts';
import {
  NODE_FIELDS,
  type NodeReferrer,
  POOL_FIELDS,
  type PoolReferrer,
  REFERRER_NOUNS,
} from '../../decision/references.ts';
import { type Problem, type ProblemCode, PROBLEM_TEXTS } from './problems.ts';
import { judgeEmptyStatus } from '../../status/dangling-references.ts';
import { matchesNodeSelector } from '../../references/node-selector.ts';
import {
  type ClusterSnapshot,
  findPoolOfNode,
  findReferencedConfig,
  type InspectedPool,
} from '../../client/cluster-snapshot.ts';

export interface CheckScope {
  /** A label selector that limits the check to its nodes and their pools. */
  readonly selector: string | undefined;
  /** At least 1, because an empty selection proves nothing. */
  readonly minNodes: number;
}

export type ConsistencyResult = ReturnType<typeof checkConsistency>;

/**
 * Checks that each node has both annotations, each pool has a config in spec and status, and all these
 * configs exist and are not being deleted. It ignores node states, rollouts, and pools that a person paused. A new
 * pool may have an empty status: see {@link judgeEmptyStatus}.
 *
 * @param explanations of missing configs, by the guard
 */
export function checkConsistency(
  { nodes, skippedNodes = [], pools, configs, terminatingConfigs, roles }: ClusterSnapshot,
  scope: CheckScope,
  now: Date,
  explanations: ReadonlyMap<string, string> = new Map(),
) {
  const livePools = pools.filter(({ referrer }) => referrer.isTerminating !== true);
  // Thousands of nodes can reference the same missing config.
  const suggestions = new Map<ConfigName, ConfigName | null>();
  const findMissing = (subject: Subject, config: ConfigName, field: string): Problem => {
    if (!suggestions.has(config)) suggestions.set(config, findNearestName(config, configs) ?? null);
    const recoverable = canBeRendered(config, livePools);
    const suggestion = suggestions.get(config) ?? null;
    const explanation = explanations.get(config) ?? null;
    return toProblem('ConfigMissing', subject, { field, config, recoverable, suggestion, explanation });
  };
  const findProblems = (referrer: NodeReferrer | PoolReferrer, fields: readonly string[]): Problem[] => {
    if (referrer.kind === 'Node' && referrer.isConfigUnreported === true) {
      return [toProblem('NotReported', referrer, { recoverable: true })];
    }
    return fields.flatMap((field) => {
      const config = findReferencedConfig(referrer, field);
      if (config === undefined) {
        // findEmptyStatus judges a status.
        if (field === 'status') return [];
        return [toProblem(field === 'spec' ? 'SpecEmpty' : 'NotReported', referrer, { field, recoverable: true })];
      }
      if (configs.has(config)) return [];
      if (!terminatingConfigs.has(config)) return [findMissing(referrer, config, field)];
      // Once the config is gone, the operator may render it again.
      const recoverable = canBeRendered(config, livePools);
      return [toProblem('ConfigTerminating', referrer, { field, config, recoverable })];
    });
  };
  const nodeResults = nodes.map((node) => {
    const pool = findPoolOfNode(node, livePools)?.referrer.name;
    return { node, pool, problems: findProblems(node.referrer, NODE_FIELDS) };
  });
  const isPartial = scope.selector !== undefined;
  const selectedPools = isPartial
    ? pools.filter(({ referrer }) => nodes.some(({ labels }) => matchesNodeSelector(referrer.nodeSelector, labels)))
    : pools;
  const poolResults = selectedPools.map((pool) => {
    const { name, isTerminating } = pool.referrer;
    // See parsePoolReferrer.
    if (isTerminating === true) return { pool, problems: [] };
    const nodeProblems = nodeResults.filter((node) => node.pool === name).flatMap((node) => node.problems);
    const emptyStatus = findEmptyStatus(pool.referrer, nodeProblems, now);
    return {
      pool,
      problems: [...findProblems(pool.referrer, POOL_FIELDS), ...emptyStatus, ...findPause(pool)],
    };
  });
  const problems = [...nodeResults, ...poolResults].flatMap((result) => result.problems);
  if (nodes.length < scope.minNodes) problems.unshift(findTooFewNodes(nodes.length, scope, roles ?? [], skippedNodes));
  return {
    ok: problems.length === 0,
    isRecoverable: problems.length > 0 && areRecoverable(problems),
    nodes: nodeResults,
    skippedNodes,
    pools: poolResults,
    problems,
  };
}

export function isMissingForever({ code, recoverable }: Problem): boolean {
  return code === 'ConfigMissing' && !recoverable;
}

type Subject = Pick<NodeReferrer | PoolReferrer, 'kind' | 'name'>;

function toProblem(code: ProblemCode, { kind, name }: Subject, facts: Partial<Problem>): Problem {
  const { field = null, config = null, recoverable = false, suggestion = null, explanation = null } = facts;
  const clause = PROBLEM_TEXTS[code].clause(field ?? '', formatName(config ?? ''));
  const message = `${REFERRER_NOUNS[kind]} ${name}: ${clause}`;
  return { code, kind, name, field, config, recoverable, suggestion, explanation, message };
}

function areRecoverable(problems: readonly Problem[]): boolean {
  return problems.every(({ recoverable }) => recoverable);
}

function findEmptyStatus(pool: PoolReferrer, nodeProblems: readonly Problem[], now: Date): Problem[] {
  const hasDanglingNode = nodeProblems.some(({ code }) => code === 'ConfigMissing');
  const code = judgeEmptyStatus(pool, hasDanglingNode, now);
  // The operator sets the status when all machines of the pool run the config in the spec.
  const recoverable = !nodeProblems.some(isMissingForever);
  return code === undefined ? [] : [toProblem(code, pool, { field: 'status', recoverable })];
}

/** A running restore unpauses the pool itself. One that was killed never does, and looks the same. */
function findPause({ referrer, paused, pausedFor }: InspectedPool): Problem[] {
  if (!paused || pausedFor === undefined) return [];
  return [toProblem('PausedForRestore', referrer, { config: toConfigName(pausedFor) })];
}

/** The operator renders the config in the spec of a pool, and the first config of a new pool. */
function canBeRendered(config: ConfigName, livePools: readonly InspectedPool[]): boolean {
  if (livePools.some(({ referrer }) => findReferencedConfig(referrer, 'spec') === config)) return true;
  const poolName = parsePoolName(config);
  if (poolName === undefined) return false;
  // Early in an install nodes have configs of the bootstrap, but no pool exists or has a spec.
  const pool = livePools.find(({ referrer }) => referrer.name === poolName);
  return pool === undefined ? livePools.length === 0 : findReferencedConfig(pool.referrer, 'spec') === undefined;
}

function findTooFewNodes(
  count: number,
  { selector, minNodes }: CheckScope,
  roles: readonly string[],
  skippedNodes: readonly string[],
): Problem {
  const selection = selector === undefined ? 'in the cluster' : `with label ${selector}`;
  let description = `only ${countNoun(count, 'node')} ${selection}, ${minNodes} are required`;
  if (count === 0) {
    const noMatch = `no node has label ${selector}. Roles here: ${roles.join(', ') || 'none'}`;
    description = selector === undefined ? 'the cluster has no nodes' : noMatch;
    if (skippedNodes.length > 0) description = `the Machine Config Operator manages no node ${selection}`;
  }
  const nothing = { kind: null, name: null, field: null, config: null, suggestion: null, explanation: null };
  return { code: 'TooFewNodes', ...nothing, recoverable: true, message: description };
}
