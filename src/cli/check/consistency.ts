import { type ConfigName, parsePoolName, toConfigName } from '../../decision/config-name.ts';
import { formatName } from '../../decision/message.ts';
import { findNearestName } from '../../status/nearest-name.ts';
import { countNoun } from '../../common/printable-text.ts';
import { NODE_FIELDS, type NodeReferrer, POOL_FIELDS, type PoolReferrer } from '../../decision/references.ts';
import { FIRST_ROLLOUT_MINUTES, judgeEmptyStatus } from '../../status/dangling-references.ts';
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

export interface Problem {
  readonly code:
    | 'ConfigMissing'
    | 'ConfigTerminating'
    | 'NotReported'
    | 'PausedForRestore'
    | 'RolloutUnfinished'
    | 'SpecEmpty'
    | 'StatusEmpty'
    | 'TooFewNodes';
  /** Absent for `TooFewNodes`. */
  readonly kind?: 'Node' | 'MachineConfigPool';
  readonly name?: string;
  /** Absent if it concerns the whole object. */
  readonly field?: string;
  readonly config?: ConfigName;
  /** Whether the operator can solve it without a person. */
  readonly isRecoverable: boolean;
  readonly suggestion?: ConfigName;
  /** Without the name of the object. */
  readonly description: string;
}

export type ConsistencyResult = ReturnType<typeof checkConsistency>;

const NOT_REPORTED: Problem = {
  code: 'NotReported',
  isRecoverable: true,
  description: 'has not reported a configuration yet',
};

/**
 * Checks that each node has both annotations, each pool has a config in spec and status, and all these
 * configs exist and are not being deleted. It ignores node states, rollouts, and pools that a person paused. A new
 * custom pool may have an empty status: see {@link judgeEmptyStatus}.
 */
export function checkConsistency(
  { nodes, skippedNodes = [], pools, configs, terminatingConfigs, roles }: ClusterSnapshot,
  scope: CheckScope,
  now: Date,
) {
  const livePools = pools.filter(({ referrer }) => referrer.isTerminating !== true);
  const describeMissing = createMissingDescriber(configs, livePools);
  const findProblems = (referrer: NodeReferrer | PoolReferrer, fields: readonly string[]): Problem[] => {
    const { kind, name } = referrer;
    const subject = { kind, name };
    if (kind === 'Node' && referrer.isConfigUnreported === true) return [{ ...subject, ...NOT_REPORTED }];
    return fields.flatMap((field) => {
      const config = findReferencedConfig(referrer, field);
      // describeEmptyStatus judges a status.
      if (config === undefined) return field === 'status' ? [] : [{ ...subject, ...describeEmpty(field) }];
      if (configs.has(config)) return [];
      const isTerminatingConfig = terminatingConfigs.has(config);
      const problem = isTerminatingConfig
        ? describeTerminating(config, field, livePools)
        : describeMissing(config, field);
      return [{ ...subject, ...problem }];
    });
  };
  const nodeResults = nodes.map((node) => {
    const pool = findPoolOfNode(node, livePools)?.referrer.name;
    return { node, pool, problems: findProblems(node.referrer, NODE_FIELDS) };
  });
  const isPartial = scope.selector !== undefined;
  const selectedPools = isPartial
    ? pools.filter(({ referrer }) =>
        nodes.some(({ labels }) => matchesNodeSelector(referrer.nodeSelector, labels)),
      )
    : pools;
  const poolResults = selectedPools.map((pool) => {
    const { name, isTerminating } = pool.referrer;
    // See parsePoolReferrer.
    if (isTerminating === true) return { pool, problems: [] };
    const nodeProblems = nodeResults.filter((node) => node.pool === name).flatMap((node) => node.problems);
    const emptyStatus = describeEmptyStatus(pool.referrer, nodeProblems, now);
    return {
      pool,
      problems: [...findProblems(pool.referrer, POOL_FIELDS), ...emptyStatus, ...describeRestore(pool)],
    };
  });
  const problems = [...nodeResults, ...poolResults].flatMap((result) => result.problems);
  if (nodes.length < scope.minNodes)
    problems.unshift(describeTooFewNodes(nodes.length, scope, roles ?? [], skippedNodes));
  return {
    ok: problems.length === 0,
    isRecoverable: problems.length > 0 && areRecoverable(problems),
    nodes: nodeResults,
    skippedNodes,
    pools: poolResults,
    problems,
  };
}

export function isMissingForever({ code, isRecoverable }: Problem): boolean {
  return code === 'ConfigMissing' && !isRecoverable;
}

function areRecoverable(problems: readonly Problem[]): boolean {
  return problems.every(({ isRecoverable }) => isRecoverable);
}

function describeEmpty(field: string): Problem {
  if (field !== 'spec') return { ...NOT_REPORTED, field, description: `has not reported its ${field} yet` };
  return { code: 'SpecEmpty', field, isRecoverable: true, description: `${field}.configuration.name is empty` };
}

function describeEmptyStatus(pool: PoolReferrer, nodeProblems: readonly Problem[], now: Date): Problem[] {
  const hasDanglingNode = nodeProblems.some(({ code }) => code === 'ConfigMissing');
  const code = judgeEmptyStatus(pool, hasDanglingNode, now);
  if (code === undefined) return [];
  // The operator sets the status when all machines of the pool run the config in the spec.
  const isRecoverable = !nodeProblems.some(isMissingForever);
  const empty = 'status.configuration.name is empty';
  const description = code === 'StatusEmpty' ? empty : `${empty} after ${FIRST_ROLLOUT_MINUTES} minutes`;
  return [{ code, kind: 'MachineConfigPool', name: pool.name, field: 'status', isRecoverable, description }];
}

/** A running restore unpauses the pool itself. One that was killed never does, and looks the same. */
function describeRestore({ referrer: { name }, paused, pausedFor }: InspectedPool): Problem[] {
  if (!paused || pausedFor === undefined) return [];
  const description = `is paused for a restore of ${formatName(pausedFor)}`;
  const config = toConfigName(pausedFor);
  return [
    { code: 'PausedForRestore', kind: 'MachineConfigPool', name, config, isRecoverable: false, description },
  ];
}

function createMissingDescriber(configs: ReadonlySet<ConfigName>, livePools: readonly InspectedPool[]) {
  // Thousands of nodes can reference the same missing config.
  const suggestions = new Map<ConfigName, ConfigName | undefined>();
  return (config: ConfigName, field: string): Problem => {
    if (!suggestions.has(config)) suggestions.set(config, findNearestName(config, configs));
    const suggestion = suggestions.get(config);
    return {
      code: 'ConfigMissing',
      field,
      config,
      isRecoverable: canBeRendered(config, livePools),
      ...(suggestion === undefined ? {} : { suggestion }),
      description: `${field} ${formatName(config)} does not exist`,
    };
  };
}

/** Once the config is gone, the operator may render it again. */
function describeTerminating(config: ConfigName, field: string, livePools: readonly InspectedPool[]): Problem {
  return {
    code: 'ConfigTerminating',
    field,
    config,
    isRecoverable: canBeRendered(config, livePools),
    description: `${field} ${formatName(config)} is being deleted`,
  };
}

/** The operator renders the config in the spec of a pool, and the first config of a new pool. */
function canBeRendered(config: ConfigName, livePools: readonly InspectedPool[]): boolean {
  if (livePools.some(({ referrer }) => findReferencedConfig(referrer, 'spec') === config)) return true;
  const poolName = parsePoolName(config);
  if (poolName === undefined) return false;
  // Early in an install nodes have configs of the bootstrap, but no pool exists or has a spec.
  const pool = livePools.find(({ referrer }) => referrer.name === poolName);
  return pool === undefined
    ? livePools.length === 0
    : findReferencedConfig(pool.referrer, 'spec') === undefined;
}

function describeTooFewNodes(
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
  return { code: 'TooFewNodes', isRecoverable: true, description };
}
