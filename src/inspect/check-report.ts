import type { PendingCertificateRequests } from './certificate-requests.ts';
import { type ConsistencyResult, findReferencedConfig, type Problem, type ProblemCode } from './consistency.ts';
import type { Repair } from './repairs.ts';

/** What `check --output json` prints. The keys are a contract: none goes away or changes its meaning. */
export interface CheckReport {
  /** Address of the API server. */
  readonly server: string;
  /** When it was asked last; RFC 3339. */
  readonly checkedAt: string;
  /** How long `--wait` has waited; 0 without it. */
  readonly waitedSeconds: number;
  /** Exit code 0. */
  readonly ok: boolean;
  /** Not fine, and may become so by waiting. */
  readonly canHeal: boolean;
  readonly nodes: readonly CheckReportNode[];
  readonly pools: readonly CheckReportPool[];
  /** All that is wrong. Empty where `ok`. */
  readonly problems: readonly CheckReportProblem[];
  /** For information: they decide nothing. */
  readonly pendingCertificateRequests: CheckReportRequests;
  /** Commands for what waiting does not heal. They have not been run. */
  readonly repairs: readonly CheckReportRepair[];
}

/** A node in question. */
export interface CheckReportNode {
  readonly name: string;
  readonly ok: boolean;
  /** The pool it belongs to. */
  readonly pool: string | null;
  readonly currentConfig: string | null;
  readonly desiredConfig: string | null;
  /** What the machine-config-daemon says; empty while it has said nothing. For information: decides nothing. */
  readonly state: string;
  readonly reason: string;
}

/** A pool in question. */
export interface CheckReportPool {
  readonly name: string;
  readonly ok: boolean;
  readonly specConfig: string | null;
  readonly statusConfig: string | null;
  readonly paused: boolean;
  /** It is being deleted, and what it names no longer counts. */
  readonly terminating: boolean;
  readonly machineCount: number;
  readonly updatedMachineCount: number;
}

/** One thing that is wrong. */
export interface CheckReportProblem {
  readonly code: ProblemCode;
  readonly kind: 'Node' | 'MachineConfigPool' | null;
  readonly name: string | null;
  /** `currentConfig`, `desiredConfig`, `spec` or `status`; null where it is the whole object. */
  readonly field: string | null;
  /** The config that does not exist. */
  readonly config: string | null;
  /** May waiting heal it? */
  readonly canHeal: boolean;
  /** The existing config with the nearest name. */
  readonly suggestion: string | null;
  /** What the guard of this cluster knows of the missing config: whether it ever existed, and when it was deleted. */
  readonly explanation: string | null;
  readonly message: string;
}

/** Pending certificate requests of nodes, or why they are not known. */
export interface CheckReportRequests {
  readonly readable: boolean;
  /** Why not, else null. */
  readonly reason: string | null;
  readonly requests: readonly {
    readonly name: string;
    readonly node: string | null;
    readonly signer: string;
    /** RFC 3339. */
    readonly createdAt: string | null;
  }[];
}

/** A command that a person may run. */
export interface CheckReportRepair {
  readonly what: string;
  readonly command: string;
}

/** Everything that a report is made of. */
export interface CheckResult {
  readonly server: string;
  readonly at: Date;
  readonly consistency: ConsistencyResult;
  readonly requests: PendingCertificateRequests;
  /** What the guard of this cluster knows of configs that do not exist, by name. */
  readonly explanations: ReadonlyMap<string, string>;
  readonly repairs: readonly Repair[];
}

/** The report of one look at a cluster. */
export function buildCheckReport(
  { server, at, consistency, requests, explanations, repairs }: CheckResult,
  waitedMs: number,
): CheckReport {
  const { ok, isRecoverable, nodes, pools, problems } = consistency;
  return {
    server,
    checkedAt: at.toISOString(),
    waitedSeconds: Math.round(waitedMs / 1_000),
    ok,
    canHeal: isRecoverable,
    nodes: nodes.map(({ node: { referrer, state, reason }, pool, problems }) => ({
      name: referrer.name,
      ok: problems.length === 0,
      pool: pool ?? null,
      currentConfig: findReferencedConfig(referrer, 'currentConfig') ?? null,
      desiredConfig: findReferencedConfig(referrer, 'desiredConfig') ?? null,
      state,
      reason,
    })),
    pools: pools.map(({ pool: { referrer, paused, machineCount, updatedMachineCount }, problems }) => ({
      name: referrer.name,
      ok: problems.length === 0,
      specConfig: findReferencedConfig(referrer, 'spec') ?? null,
      statusConfig: findReferencedConfig(referrer, 'status') ?? null,
      paused,
      terminating: referrer.isTerminating === true,
      machineCount,
      updatedMachineCount,
    })),
    problems: problems.map((problem) => reported(problem, explanations)),
    pendingCertificateRequests: reportedRequests(requests),
    repairs: repairs.map(({ description, command }) => ({ what: description, command: command.flat().join(' ') })),
  };
}

/** The object that a problem is about, for a person: `node worker-0`, `pool master`. */
function subjectOf({ kind, name }: Pick<Problem, 'kind' | 'name'>): string | undefined {
  return kind === undefined || name === undefined ? undefined : `${kind === 'Node' ? 'node' : 'pool'} ${name}`;
}

function reported(problem: Problem, explanations: ReadonlyMap<string, string>): CheckReportProblem {
  const { code, kind, name, field, config, isRecoverable, suggestion, description } = problem;
  const subject = subjectOf(problem);
  return {
    code,
    kind: kind ?? null,
    name: name ?? null,
    field: field ?? null,
    config: config ?? null,
    canHeal: isRecoverable,
    suggestion: suggestion ?? null,
    explanation: (config === undefined ? undefined : explanations.get(config)) ?? null,
    message: subject === undefined ? description : `${subject}: ${description}`,
  };
}

function reportedRequests(requests: PendingCertificateRequests): CheckReportRequests {
  if (!requests.readable) return { readable: false, reason: requests.reason, requests: [] };
  return {
    readable: true,
    reason: null,
    requests: requests.requests.map(({ name, node, signer, createdAt }) => ({
      name,
      node: node ?? null,
      signer,
      createdAt: createdAt?.toISOString() ?? null,
    })),
  };
}
