import type { PendingRequests } from '../cluster/inventory-requests.ts';
import { type Consistency, configIn, type Problem, type ProblemCode } from '../policy/consistency.ts';
import type { Repair } from '../policy/repair.ts';

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
  readonly nodes: readonly CheckedNode[];
  readonly pools: readonly CheckedPool[];
  /** All that is wrong. Empty where `ok`. */
  readonly problems: readonly CheckProblem[];
  /** For information: they decide nothing. */
  readonly pendingCertificateRequests: CheckedRequests;
  /** Commands for what waiting does not heal. They have not been run. */
  readonly repairs: readonly CheckRepair[];
}

/** A node in question. */
export interface CheckedNode {
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
export interface CheckedPool {
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
export interface CheckProblem {
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
export interface CheckedRequests {
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
export interface CheckRepair {
  readonly what: string;
  readonly command: string;
}

/** Everything that a report is made of. */
export interface Checked {
  readonly server: string;
  readonly at: Date;
  readonly consistency: Consistency;
  readonly requests: PendingRequests;
  /** What the guard of this cluster knows of configs that do not exist, by name. */
  readonly explanations: ReadonlyMap<string, string>;
  readonly repairs: readonly Repair[];
}

/** The report of one look at a cluster. */
export function checkReport(
  { server, at, consistency, requests, explanations, repairs }: Checked,
  waitedMs: number,
): CheckReport {
  const { ok, canHeal, nodes, pools, problems } = consistency;
  return {
    server,
    checkedAt: at.toISOString(),
    waitedSeconds: Math.round(waitedMs / 1_000),
    ok,
    canHeal,
    nodes: nodes.map(({ node: { referrer, state, reason }, pool, problems }) => ({
      name: referrer.name,
      ok: problems.length === 0,
      pool: pool ?? null,
      currentConfig: configIn(referrer, 'currentConfig') ?? null,
      desiredConfig: configIn(referrer, 'desiredConfig') ?? null,
      state,
      reason,
    })),
    pools: pools.map(({ pool: { referrer, paused, machineCount, updatedMachineCount }, problems }) => ({
      name: referrer.name,
      ok: problems.length === 0,
      specConfig: configIn(referrer, 'spec') ?? null,
      statusConfig: configIn(referrer, 'status') ?? null,
      paused,
      terminating: referrer.terminating === true,
      machineCount,
      updatedMachineCount,
    })),
    problems: problems.map((problem) => reported(problem, explanations)),
    pendingCertificateRequests: reportedRequests(requests),
    repairs: repairs.map(({ what, command }) => ({ what, command: command.flat().join(' ') })),
  };
}

/** The object that a problem is about, for a person: `node worker-0`, `pool master`. */
function subjectOf({ kind, name }: Pick<Problem, 'kind' | 'name'>): string | undefined {
  return kind === undefined || name === undefined ? undefined : `${kind === 'Node' ? 'node' : 'pool'} ${name}`;
}

function reported(problem: Problem, explanations: ReadonlyMap<string, string>): CheckProblem {
  const { code, kind, name, field, config, canHeal, suggestion, what } = problem;
  const subject = subjectOf(problem);
  return {
    code,
    kind: kind ?? null,
    name: name ?? null,
    field: field ?? null,
    config: config ?? null,
    canHeal,
    suggestion: suggestion ?? null,
    explanation: (config === undefined ? undefined : explanations.get(config)) ?? null,
    message: subject === undefined ? what : `${subject}: ${what}`,
  };
}

function reportedRequests(requests: PendingRequests): CheckedRequests {
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
