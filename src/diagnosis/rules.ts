import { findReferencedConfig } from '../mco/referrer.ts';
import type { InspectedNode, InspectedPool } from './cluster-snapshot.ts';
import { FIRST_ROLLOUT_MINUTES } from './dangling-references.ts';
import * as findings from './findings.ts';
import type { Cluster, Finding, MissingConfigReport, Problem, ProblemCode } from './problem.ts';
import type { RepairName } from './repairs.ts';
import { formatName, toConfigName } from '../mco/machine-config.ts';

/** One kind of problem: what it finds in which objects, how it reads, and its repairs. */
export interface Rule {
  readonly ofCluster?: (cluster: Cluster) => readonly Finding[];
  readonly ofNode?: (node: InspectedNode, cluster: Cluster) => readonly Finding[];
  /** Of pools that are not being deleted. */
  readonly ofPool?: (pool: InspectedPool, cluster: Cluster) => readonly Finding[];
  /** For the column CHECK. The field is `spec`, `status`, `current`, `desired`, `reason`, `both` or empty. */
  readonly summary: (field: string) => string;
  /** About all objects that have the problem, such as `nodes a and b`. No period. */
  readonly sentence: (problem: Problem, names: string, isPlural: boolean) => string;
  /** The sentences after the first one and `recoverableReason`. Empty ones are omitted. */
  readonly more?: (problem: Problem) => readonly string[];
  /** In any order: that of the list of repairs counts. */
  readonly repairs?: readonly RepairName[];
}

const summarizeEmpty = (field: string) => `${field} empty`;
const have = (isPlural: boolean) => (isPlural ? 'have' : 'has');
const be = (isPlural: boolean) => (isPlural ? 'are' : 'is');
const name = (isPlural: boolean) => (isPlural ? 'name' : 'names');

export const RULES: Readonly<Record<ProblemCode, Rule>> = {
  TooFewNodes: {
    ofCluster: findings.findTooFewNodes,
    summary: () => '',
    sentence: ({ evidence }) => evidence ?? '',
    repairs: ['approveRequests'],
  },
  ConfigMissing: {
    ofNode: ({ referrer, reason }, cluster) => findings.findMissing(referrer, cluster, false, reason),
    ofPool: ({ referrer }, cluster) => findings.findMissing(referrer, cluster, false),
    summary: (field) => `${field} missing`,
    sentence: ({ config }, names, isPlural) =>
      `${formatName(config ?? '')} does not exist; ${names} ${name(isPlural)} it`,
    more: ({ suggestion, ...history }) => [
      suggestion === null ? '' : `Closest existing name: ${suggestion}`,
      explainDeletion(history),
    ],
    repairs: ['assignPool', 'resetSpec', 'resetDesired', 'restore', 'setStatus', 'returnToPool', 'nameConfigOfPool'],
  },
  ConfigTerminating: {
    ofNode: ({ referrer }, cluster) => findings.findMissing(referrer, cluster, true),
    ofPool: ({ referrer }, cluster) => findings.findMissing(referrer, cluster, true),
    summary: (field) => `${field} being deleted`,
    sentence: ({ config }, names, isPlural) =>
      `${formatName(config ?? '')} is in use and being deleted; ${names} ${name(isPlural)} it`,
    more: () => ['Move the referrers to another config before the finalizers are removed, or keep the finalizers'],
  },
  NotReported: {
    ofNode: findings.findUnreported,
    summary: (field) => (field === '' ? 'not reported' : `no ${field} yet`),
    sentence: ({ field }, names, isPlural) =>
      `${names} ${have(isPlural)} not reported a ${field ?? 'configuration'} yet`,
  },
  PoolConflict: {
    ofNode: findings.findConflict,
    summary: () => 'two custom pools',
    sentence: ({ evidence }, names, isPlural) => `${names} ${be(isPlural)} in the ${evidence}`,
    repairs: ['assignPool'],
  },
  NodeDegraded: {
    ofNode: findings.findDegradedNode,
    summary: () => 'Degraded',
    sentence: (_problem, names, isPlural) => `${names} ${be(isPlural)} Degraded, although the configs exist`,
    repairs: ['nameDesired', 'readDisk', 'force'],
  },
  SpecEmpty: {
    ofPool: (pool, { now }) =>
      findReferencedConfig(pool.referrer, 'spec') === undefined
        ? [{ ...findings.judgeRenderer(pool, now), field: 'spec' }]
        : [],
    summary: summarizeEmpty,
    sentence: (_problem, names, isPlural) =>
      `${names} ${have(isPlural)} an empty spec.configuration.name: the operator has not rendered a config yet`,
  },
  StatusEmpty: {
    ofPool: (pool, cluster) => findings.findEmptyStatus('StatusEmpty', pool, cluster),
    summary: summarizeEmpty,
    sentence: (_problem, names, isPlural) =>
      `${names} ${have(isPlural)} an empty status.configuration.name: the machine-config-server answers new machines ` +
      'with HTTP 500',
    repairs: ['setStatus', 'unpause'],
  },
  RolloutUnfinished: {
    ofPool: (pool, cluster) => findings.findEmptyStatus('RolloutUnfinished', pool, cluster),
    summary: summarizeEmpty,
    sentence: (_problem, names, isPlural) =>
      `${names} ${have(isPlural)} an empty status.configuration.name after ${FIRST_ROLLOUT_MINUTES} minutes`,
    repairs: ['unpause'],
  },
  PoolDegraded: {
    ofPool: findings.findDegradedPool,
    summary: () => 'Degraded',
    sentence: ({ evidence }, names, isPlural) =>
      `${names} ${be(isPlural)} Degraded${evidence === null ? '' : `: "${evidence}"`}`,
  },
  PausedForRestore: {
    // A running restore unpauses the pool itself. One that was killed never does, and looks the same.
    ofPool: ({ paused, pausedFor }) => {
      if (!paused || pausedFor === undefined) return [];
      return [{ ...findings.no('Only its restore unpauses it'), config: toConfigName(pausedFor) }];
    },
    summary: () => 'paused for restore',
    sentence: ({ config }, names, isPlural) =>
      `${names} ${be(isPlural)} paused for a restore of ${formatName(config ?? '')}`,
    more: () => ['Let the restore run, or continue it if it has ended early'],
    repairs: ['continueRestore'],
  },
};

function explainDeletion({ explanation, deletedAt, deletedBy }: MissingConfigReport): string {
  if (deletedAt === null) return findings.quote(explanation ?? '');
  const [time, user] = [findings.quote(deletedAt), findings.quote(deletedBy ?? '')];
  return user === '' ? `The guard saw its deletion at ${time}` : `The guard allowed "${user}" to delete it at ${time}`;
}
