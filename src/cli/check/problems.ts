import { countNoun, toPrintableLine } from '../../common/printable-text.ts';
import {
  type ConfigName,
  findReferencedConfig,
  NODE_FIELDS,
  type NodeReferrer,
  parsePoolName,
  type PoolReferrer,
  REFERRER_NOUNS,
  toConfigName,
} from '../../decision/references.ts';
import { formatName } from '../../decision/message.ts';
import {
  type ClusterSnapshot,
  findPoolOfNode,
  type InspectedNode,
  type InspectedPool,
} from '../../client/cluster-snapshot.ts';
import { type MissingConfigReport, UNKNOWN_TO_GUARD } from '../../client/guard-report.ts';
import { matchesNodeSelector } from '../../references/node-pool.ts';
import { FIRST_ROLLOUT_MINUTES, judgeEmptyStatus } from '../../status/dangling-references.ts';
import { findNearestName } from '../../status/nearest-name.ts';

type ProblemCode =
  | 'ConfigMissing'
  | 'ConfigTerminating'
  | 'NotReported'
  | 'PausedForRestore'
  | 'RolloutUnfinished'
  | 'SpecEmpty'
  | 'StatusEmpty'
  | 'TooFewNodes';

/** Part of the JSON of `check`. */
export interface Problem extends MissingConfigReport {
  readonly code: ProblemCode;
  /** Null for `TooFewNodes`. */
  readonly kind: 'Node' | 'MachineConfigPool' | null;
  readonly name: string | null;
  /** Null if it concerns the whole object. */
  readonly field: string | null;
  readonly config: ConfigName | null;
  /** Whether the operator can solve it without a person. */
  readonly recoverable: boolean;
  /** The closest existing name. */
  readonly suggestion: ConfigName | null;
  /** A sentence without a period. */
  readonly message: string;
}

interface ProblemTexts {
  /** For the column CHECK. The field is `spec`, `status`, `current`, `desired`, `both` or empty. */
  readonly summary: (field: string) => string;
  /** About all objects that have the problem, such as `nodes a and b`. The first sentence names them. */
  readonly sentences: (problem: Problem, names: string, isPlural: boolean) => readonly string[];
}

const MAX_QUOTE = 300;
const WHEN_SET = 'The operator sets the field when all machines of the pool run the config in its spec';
const summarizeEmpty = (field: string) => `${field} empty`;
const haveEmpty = (field: string, names: string, isPlural: boolean) =>
  `${names} ${isPlural ? 'have' : 'has'} an empty ${field}.configuration.name`;

/** All texts about the problems. Each sentence lacks its period. */
export const PROBLEM_TEXTS: Readonly<Record<ProblemCode, ProblemTexts>> = {
  ConfigMissing: {
    summary: (field) => `${field} missing`,
    sentences: ({ config, recoverable, suggestion, ...history }, names, isPlural) => [
      `${formatName(config ?? '')} does not exist; ${names} ${isPlural ? 'name' : 'names'} it`,
      recoverable
        ? 'The Machine Config Operator can still render it'
        : "No pool's spec names it, so waiting does not help",
      suggestion === null ? '' : `Closest existing name: ${suggestion}`,
      explainDeletion(history),
    ],
  },
  ConfigTerminating: {
    summary: (field) => `${field} being deleted`,
    sentences: ({ config, recoverable }, names, isPlural) => [
      `${formatName(config ?? '')} is in use and being deleted; ${names} ${isPlural ? 'name' : 'names'} it`,
      'Move the referrers to another config before the finalizers are removed, or keep the finalizers',
      recoverable ? 'The Machine Config Operator can render the config again' : '',
    ],
  },
  NotReported: {
    summary: (field) => (field === '' ? 'not reported' : `no ${field} yet`),
    sentences: ({ field }, names, isPlural) => [
      `${names} ${isPlural ? 'have' : 'has'} not reported a ${field ?? 'configuration'} yet`,
    ],
  },
  PausedForRestore: {
    summary: () => 'paused for restore',
    sentences: ({ config }, names, isPlural) => [
      `${names} ${isPlural ? 'are' : 'is'} paused for a restore of ${formatName(config ?? '')}`,
      'Let the restore run, or continue it if it has ended early',
    ],
  },
  RolloutUnfinished: {
    summary: summarizeEmpty,
    sentences: (_problem, names, isPlural) => [
      `${haveEmpty('status', names, isPlural)} after ${FIRST_ROLLOUT_MINUTES} minutes`,
      WHEN_SET,
      'Check whether the pool is paused, and which nodes are Degraded',
    ],
  },
  SpecEmpty: {
    summary: summarizeEmpty,
    sentences: (_problem, names, isPlural) => [
      `${haveEmpty('spec', names, isPlural)}: the operator has not rendered a config yet`,
    ],
  },
  StatusEmpty: {
    summary: summarizeEmpty,
    sentences: ({ recoverable }, names, isPlural) => [
      `${haveEmpty('status', names, isPlural)}: the machine-config-server answers new machines with HTTP 500`,
      WHEN_SET,
      recoverable ? '' : 'A node whose config is missing cannot move to it',
    ],
  },
  // Its message says how many are missing.
  TooFewNodes: { summary: () => '', sentences: ({ message }) => [message] },
};

function explainDeletion({ explanation, deletedAt, deletedBy }: MissingConfigReport): string {
  if (deletedAt === null) return toPrintableLine(explanation ?? '', MAX_QUOTE);
  const time = toPrintableLine(deletedAt, MAX_QUOTE);
  const user = toPrintableLine(deletedBy ?? '', MAX_QUOTE);
  return user === '' ? `The guard saw its deletion at ${time}` : `The guard allowed "${user}" to delete it at ${time}`;
}

export interface CheckScope {
  /** A label selector that limits the check to its nodes and their pools. */
  readonly selector: string | undefined;
  /** At least 1, because an empty selection proves nothing. */
  readonly minNodes: number;
}

/** Part of the JSON of `check`. Unknown values are null. */
export interface CheckedNode extends Pick<InspectedNode, 'state' | 'reason'> {
  readonly name: string;
  readonly ok: boolean;
  readonly pool: string | null;
  readonly currentConfig: string | null;
  readonly desiredConfig: string | null;
}

/** Part of the JSON of `check`. */
export interface CheckedPool extends Pick<InspectedPool, 'paused' | 'machineCount' | 'updatedMachineCount'> {
  readonly name: string;
  readonly ok: boolean;
  readonly specConfig: string | null;
  readonly statusConfig: string | null;
  /** The config for which `restore` paused the pool, or had paused it. */
  readonly pausedFor: string | null;
  readonly terminating: boolean;
}

/** Part of the JSON of `check`. */
export interface CheckedCluster {
  readonly ok: boolean;
  /** Whether the operator can solve all problems without a person. */
  readonly recoverable: boolean;
  readonly nodes: readonly CheckedNode[];
  /** The nodes that the operator does not manage. */
  readonly skippedNodes: readonly string[];
  readonly pools: readonly CheckedPool[];
  readonly problems: readonly Problem[];
}

/**
 * Checks that each node has both annotations, each pool has a config in spec and status, and all these
 * configs exist and are not being deleted. It ignores node states, rollouts, and pools that a person paused. A new
 * pool may have an empty status: see {@link judgeEmptyStatus}.
 *
 * @param guardReports about missing configs
 */
export function checkSnapshot(
  snapshot: ClusterSnapshot,
  scope: CheckScope,
  now: Date,
  guardReports: ReadonlyMap<string, MissingConfigReport> = new Map(),
): CheckedCluster {
  const { skippedNodes = [] } = snapshot;
  const livePools = snapshot.pools.filter(({ referrer }) => referrer.isTerminating !== true);
  // Thousands of nodes can name the same missing config, and finding the closest name takes time.
  const judged = new Map<ConfigName, Finding | undefined>();
  const judge = (config: ConfigName): Finding | undefined => {
    if (!judged.has(config)) judged.set(config, judgeConfig(config, snapshot, livePools, guardReports));
    return judged.get(config);
  };
  const nodes = snapshot.nodes.map((node) => {
    const { referrer, state, reason } = node;
    const pool = findPoolOfNode(node, livePools)?.referrer.name ?? null;
    const problems = findNodeProblems(referrer, judge);
    const currentConfig = findReferencedConfig(referrer, 'currentConfig') ?? null;
    const desiredConfig = findReferencedConfig(referrer, 'desiredConfig') ?? null;
    const ok = problems.length === 0;
    return [{ name: referrer.name, ok, pool, currentConfig, desiredConfig, state, reason }, problems] as const;
  });
  const selectedPools = snapshot.pools.filter(
    ({ referrer: { nodeSelector } }) =>
      scope.selector === undefined || snapshot.nodes.some(({ labels }) => matchesNodeSelector(nodeSelector, labels)),
  );
  const pools = selectedPools.map((pool) => {
    const { referrer, paused, pausedFor = null, machineCount, updatedMachineCount } = pool;
    const { name, isTerminating: terminating = false } = referrer;
    const nodeProblems = nodes.flatMap(([node, problems]) => (node.pool === name ? problems : []));
    const problems = terminating ? [] : findPoolProblems(pool, nodeProblems, judge, now);
    const specConfig = findReferencedConfig(referrer, 'spec') ?? null;
    const statusConfig = findReferencedConfig(referrer, 'status') ?? null;
    const machines = { machineCount, updatedMachineCount };
    const ok = problems.length === 0;
    return [{ name, ok, specConfig, statusConfig, paused, pausedFor, terminating, ...machines }, problems] as const;
  });
  const problems = [...findTooFewNodes(snapshot, scope), ...[...nodes, ...pools].flatMap(([, ofObject]) => ofObject)];
  return {
    ok: problems.length === 0,
    recoverable: problems.length > 0 && problems.every(({ recoverable }) => recoverable),
    nodes: nodes.map(([node]) => node),
    skippedNodes,
    pools: pools.map(([pool]) => pool),
    problems,
  };
}

/** Whether a config is missing that the operator cannot render again. */
export function isMissingForever({ code, recoverable }: Problem): boolean {
  return code === 'ConfigMissing' && !recoverable;
}

/** A problem before its object is known. */
type Finding = Pick<Problem, 'code' | 'recoverable'> & Partial<Problem>;
const UNKNOWN = { field: null, config: null, suggestion: null, ...UNKNOWN_TO_GUARD };
type ConfigJudge = (config: ConfigName) => Finding | undefined;

function judgeConfig(
  config: ConfigName,
  { configs, terminatingConfigs }: ClusterSnapshot,
  livePools: readonly InspectedPool[],
  guardReports: ReadonlyMap<string, MissingConfigReport>,
): Finding | undefined {
  if (configs.has(config)) return undefined;
  // Once a terminating config is gone, the operator may render it again.
  const recoverable = canBeRendered(config, livePools);
  if (terminatingConfigs.has(config)) return { code: 'ConfigTerminating', config, recoverable };
  const suggestion = findNearestName(config, configs) ?? null;
  return { code: 'ConfigMissing', config, recoverable, suggestion, ...guardReports.get(config) };
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

function findNodeProblems(node: NodeReferrer, judge: ConfigJudge): Problem[] {
  if (node.isConfigUnreported === true) return [toProblem(node, { code: 'NotReported', recoverable: true })];
  return NODE_FIELDS.flatMap((field) => findFieldProblem(node, field, 'NotReported', judge));
}

function findPoolProblems(
  { referrer, paused, pausedFor }: InspectedPool,
  nodeProblems: readonly Problem[],
  judge: ConfigJudge,
  now: Date,
): Problem[] {
  const hasDanglingNode = nodeProblems.some(({ code }) => code === 'ConfigMissing');
  const emptyStatus = judgeEmptyStatus(referrer, hasDanglingNode, now);
  // The operator sets the status when all machines of the pool run the config in the spec.
  const recoverable = !nodeProblems.some(isMissingForever);
  // A running restore unpauses the pool itself. One that was killed never does, and looks the same.
  const isPaused = paused && pausedFor !== undefined;
  return [
    ...findFieldProblem(referrer, 'spec', 'SpecEmpty', judge),
    ...findFieldProblem(referrer, 'status', emptyStatus, judge, recoverable),
    ...(isPaused
      ? [toProblem(referrer, { code: 'PausedForRestore', config: toConfigName(pausedFor), recoverable: false })]
      : []),
  ];
}

/** @param emptyCode the problem if the field names no config; undefined if it may */
function findFieldProblem(
  referrer: NodeReferrer | PoolReferrer,
  field: string,
  emptyCode: ProblemCode | undefined,
  judge: ConfigJudge,
  recoverable = true,
): Problem[] {
  const config = findReferencedConfig(referrer, field);
  const finding = config === undefined ? emptyCode && { code: emptyCode, recoverable } : judge(config);
  return finding === undefined ? [] : [toProblem(referrer, { ...finding, field })];
}

function toProblem({ kind, name }: NodeReferrer | PoolReferrer, finding: Finding): Problem {
  const { code, ...facts } = finding;
  const problem = { code, kind, name, ...UNKNOWN, ...facts, message: '' };
  const place = problem.config === null || problem.field === null ? '' : ` (${problem.field})`;
  const subject = `${REFERRER_NOUNS[kind]} ${name}${place}`;
  const [message = ''] = PROBLEM_TEXTS[code].sentences(problem, subject, false);
  return { ...problem, message };
}

function findTooFewNodes({ nodes, skippedNodes = [], roles = [] }: ClusterSnapshot, scope: CheckScope): Problem[] {
  const { selector, minNodes } = scope;
  if (nodes.length >= minNodes) return [];
  const selection = selector === undefined ? 'in the cluster' : `with label ${selector}`;
  let message = `only ${countNoun(nodes.length, 'node')} ${selection}, ${minNodes} are required`;
  if (nodes.length === 0) {
    const noMatch = `no node has label ${selector}. Roles here: ${roles.join(', ') || 'none'}`;
    message = selector === undefined ? 'the cluster has no nodes' : noMatch;
    if (skippedNodes.length > 0) message = `the Machine Config Operator manages no node ${selection}`;
  }
  return [{ ...UNKNOWN, code: 'TooFewNodes', kind: null, name: null, recoverable: true, message }];
}
