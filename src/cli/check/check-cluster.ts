import type { KubeApi } from '../../kube/api.ts';
import { type PendingCertificateRequests, readPendingCertificateRequests } from '../../client/certificate-requests.ts';
import { isNotServed, isRetryableRead } from '../../client/cluster-access.ts';
import { readClusterSnapshot } from '../../client/cluster-reader.ts';
import { readGuardReports } from '../../client/guard-report.ts';
import { type PollOptions, pollUntilSettled, readWithRetries } from '../../client/poll.ts';
import { type CheckedCluster, type CheckScope, checkSnapshot } from './problems.ts';
import { planRepairs, type Repair } from './repairs.ts';

/** The JSON of `check --output json`. Its keys are a contract. Unknown values are null. */
export interface CheckReport extends CheckedCluster {
  readonly server: string;
  readonly checkedAt: string;
  /** 0 without `--wait`. */
  readonly waitedSeconds: number;
  readonly pendingCertificateRequests: PendingCertificateRequests;
  readonly repairs: readonly Repair[];
}

export interface CheckOptions extends Partial<CheckScope> {
  /** Undefined does not wait. */
  readonly wait?: Pick<PollOptions<CheckReport>, 'timeoutMs' | 'onAnswer' | 'onFailure'> | undefined;
}

/** An API server that restarts answers earlier. A wrong address never answers. */
const FIRST_CONTACT_MS = 30_000;

/** @throws ClusterAccessError, TimeoutError */
export async function checkCluster(
  api: KubeApi,
  { selector, minNodes = 1, wait }: CheckOptions = {},
): Promise<CheckReport> {
  const read = (signal: AbortSignal): Promise<CheckReport> => readReport(api, { selector, minNodes }, signal);
  if (wait === undefined) return await readWithRetries(read);
  const { answer, elapsedMs } = await pollUntilSettled({
    ...wait,
    read,
    isSettled: ({ ok, recoverable }) => ok || !recoverable,
    retryUntilMs: (error, hasAnswered) => {
      if (isNotServed(error)) return wait.timeoutMs;
      if (!isRetryableRead(error)) return 0;
      return hasAnswered ? wait.timeoutMs : FIRST_CONTACT_MS;
    },
  });
  return { ...answer, waitedSeconds: Math.round(elapsedMs / 1_000) };
}

async function readReport(api: KubeApi, scope: CheckScope, signal: AbortSignal): Promise<CheckReport> {
  const guardRead = readGuardReports(api, signal);
  const readAndCheck = async (): Promise<CheckedCluster> => {
    const snapshot = await readClusterSnapshot(api, scope.selector, signal);
    return checkSnapshot(snapshot, scope, new Date(), await guardRead);
  };
  const checkTwice = async (): Promise<CheckedCluster> => {
    const cluster = await readAndCheck();
    // Between two lists a node can change its config, and its old config can be deleted.
    return cluster.ok || cluster.recoverable ? cluster : await readAndCheck();
  };
  // The guard is part of it, so that no rejection stays unhandled if another read rejects first.
  const [cluster, pendingCertificateRequests] = await Promise.all([
    checkTwice(),
    readPendingCertificateRequests(api, signal),
    guardRead,
  ]);
  const checkedAt = new Date().toISOString();
  const repairs = planRepairs(cluster, pendingCertificateRequests.requests);
  return { server: api.address, checkedAt, waitedSeconds: 0, ...cluster, pendingCertificateRequests, repairs };
}
