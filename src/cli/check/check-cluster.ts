import type { KubeApi } from '../../kube/api.ts';
import { withTimeout } from '../../common/wait.ts';
import { type PendingCertificateRequests, readPendingCertificateRequests } from '../../client/certificate-requests.ts';
import { isNotServed, isRetryableRead } from '../../client/cluster-access.ts';
import { readClusterSnapshot } from '../../client/cluster-reader.ts';
import { checkConsistency, type CheckScope } from './consistency.ts';
import type { Problem } from './problems.ts';
import { findReferencedConfig } from '../../client/cluster-snapshot.ts';
import { readGuardReport } from '../../client/guard-report.ts';
import { findHolds } from '../../client/holds.ts';
import { pollUntilSettled, RETRY_INTERVAL_MS, RETRY_TIMEOUT_MS } from '../../client/poll.ts';
import { findUnusedConfigs } from '../../client/holds.ts';
import { planRepairs, type Repair } from './repairs.ts';

export interface CheckOptions {
  /** A label selector; undefined selects all nodes. */
  readonly selector?: string | undefined;
  readonly minNodes?: number;
  /** Undefined does not wait. */
  readonly waitMs?: number | undefined;
  readonly onReport?: (report: CheckReport, elapsedMs: number) => void;
  readonly onFailure?: (error: unknown, elapsedMs: number) => void;
}

/** The JSON of `check --output json`. Its keys are a contract. Unknown values are null. */
export interface CheckReport {
  readonly server: string;
  readonly checkedAt: string;
  /** 0 without `--wait`. */
  readonly waitedSeconds: number;
  readonly ok: boolean;
  /** Whether the operator can solve all problems without a person. */
  readonly recoverable: boolean;
  /** `holdSuperseded` of the guard. Null with a selector, too. */
  readonly holdSeconds: number | null;
  readonly nodes: readonly CheckedNode[];
  /** The nodes that the operator does not manage. */
  readonly skippedNodes: readonly string[];
  readonly pools: readonly CheckedPool[];
  readonly problems: readonly Problem[];
  readonly pendingCertificateRequests: PendingCertificateRequests;
  readonly repairs: readonly Repair[];
}

export interface CheckedNode {
  readonly name: string;
  readonly ok: boolean;
  readonly pool: string | null;
  readonly currentConfig: string | null;
  readonly desiredConfig: string | null;
  /** As the machine-config-daemon reports it. */
  readonly state: string;
  readonly reason: string;
}

export interface CheckedPool {
  readonly name: string;
  readonly ok: boolean;
  readonly specConfig: string | null;
  readonly statusConfig: string | null;
  readonly paused: boolean;
  readonly terminating: boolean;
  readonly machineCount: number;
  readonly updatedMachineCount: number;
  /** Until when the guard holds the last of its unused configs. */
  readonly heldUntil: string | null;
}

export type Inspection = Awaited<ReturnType<typeof inspect>>;

/** An API server that restarts answers earlier. A wrong address never answers. */
const FIRST_CONTACT_MS = 30_000;

/** @throws ClusterAccessError, TimeoutError */
export async function checkCluster(
  api: KubeApi,
  { selector, minNodes = 1, waitMs, onReport, onFailure = () => {} }: CheckOptions = {},
): Promise<CheckReport> {
  const scope = { selector, minNodes };
  const { answer, elapsedMs } = await pollUntilSettled({
    read: (timeoutMs) => withTimeout(timeoutMs, new AbortController().signal, (signal) => inspect(api, scope, signal)),
    isSettled: ({ consistency }) => waitMs === undefined || consistency.ok || !consistency.isRecoverable,
    timeoutMs: waitMs ?? RETRY_TIMEOUT_MS,
    ...(waitMs === undefined ? { intervalMs: RETRY_INTERVAL_MS } : {}),
    retryUntilMs: (error, hasAnswered) => {
      if (waitMs !== undefined && isNotServed(error)) return waitMs;
      if (!isRetryableRead(error)) return 0;
      return waitMs !== undefined && hasAnswered ? waitMs : FIRST_CONTACT_MS;
    },
    onAnswer: (inspection, atMs) => onReport?.(buildCheckReport(inspection, atMs), atMs),
    onFailure,
  });
  return buildCheckReport(answer, waitMs === undefined ? 0 : elapsedMs);
}

async function inspect(api: KubeApi, scope: CheckScope, signal: AbortSignal) {
  const requestsRead = readPendingCertificateRequests(api, signal);
  const guardRead = readGuardReport(api, signal);
  const readAndCheck = async () => {
    const snapshot = await readClusterSnapshot(api, scope.selector, signal);
    const { explanations } = await guardRead;
    return { snapshot, consistency: checkConsistency(snapshot, scope, new Date(), explanations) };
  };
  let { snapshot, consistency } = await readAndCheck();
  // Between two lists a node can change its config, and its old config can be deleted.
  if (!consistency.ok && !consistency.isRecoverable) ({ snapshot, consistency } = await readAndCheck());
  const requests = await requestsRead;
  const { holdMs } = await guardRead;
  const pendingNames = requests.requests.map(({ name }) => name);
  const repairs = planRepairs(consistency, snapshot.configs, pendingNames);
  // A selected part of the nodes does not show which configs are unused.
  const holdings =
    holdMs === undefined || scope.selector !== undefined
      ? undefined
      : { holdMs, untilByPool: findHeldPools(snapshot, holdMs) };
  return { server: api.address, at: new Date(), consistency, requests, repairs, holdings };
}

/** The pools whose unused configs the guard holds, and until when it holds the last one. */
function findHeldPools(
  { nodes, pools, allConfigs, readAt }: Awaited<ReturnType<typeof readClusterSnapshot>>,
  holdMs: number,
): ReadonlyMap<string, Date> {
  const referrers = [...nodes, ...pools].map(({ referrer }) => referrer);
  const unused = findUnusedConfigs({
    configs: allConfigs.filter(({ isTerminating }) => !isTerminating),
    referrers,
  });
  const untilByPool = new Map<string, Date>();
  for (const { pool, until } of findHolds(unused, {
    configs: allConfigs,
    referrers,
    at: readAt,
    holdMs,
  }).values()) {
    if (until > (untilByPool.get(pool) ?? readAt)) untilByPool.set(pool, until);
  }
  return untilByPool;
}

export function buildCheckReport(inspection: Inspection, waitedMs: number): CheckReport {
  const { server, at, consistency, requests, repairs, holdings } = inspection;
  const { ok, isRecoverable, nodes, skippedNodes, pools, problems } = consistency;
  return {
    server,
    checkedAt: at.toISOString(),
    waitedSeconds: Math.round(waitedMs / 1_000),
    ok,
    recoverable: isRecoverable,
    holdSeconds: holdings === undefined ? null : holdings.holdMs / 1_000,
    nodes: nodes.map(({ node: { referrer, state, reason }, pool, problems: { length } }) => ({
      name: referrer.name,
      ok: length === 0,
      pool: pool ?? null,
      currentConfig: findReferencedConfig(referrer, 'currentConfig') ?? null,
      desiredConfig: findReferencedConfig(referrer, 'desiredConfig') ?? null,
      state,
      reason,
    })),
    skippedNodes,
    pools: pools.map(({ pool: { referrer, paused, machineCount, updatedMachineCount }, problems: { length } }) => ({
      name: referrer.name,
      ok: length === 0,
      specConfig: findReferencedConfig(referrer, 'spec') ?? null,
      statusConfig: findReferencedConfig(referrer, 'status') ?? null,
      paused,
      terminating: referrer.isTerminating === true,
      machineCount,
      updatedMachineCount,
      heldUntil: holdings?.untilByPool.get(referrer.name)?.toISOString() ?? null,
    })),
    problems,
    pendingCertificateRequests: requests,
    repairs,
  };
}
