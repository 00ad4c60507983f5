import type { KubeApi } from '../../kube/api.ts';
import { readPendingCertificateRequests } from '../../client/certificate-requests.ts';
import { isNotServed, isRetryableRead } from '../../client/cluster-access.ts';
import { readClusterSnapshot, readControlPlaneReplicas } from '../../client/cluster-reader.ts';
import { readGuardReports } from '../../client/guard-report.ts';
import { advise } from '../../client/output/advice.ts';
import { type PollOptions, pollUntilSettled, readWithRetries } from '../../client/poll.ts';
import { diagnose } from '../../diagnosis/diagnose.ts';
import type { DiagnosisScope } from '../../diagnosis/problem.ts';

/** Its JSON keys are a contract. Unknown values are null. */
export type CheckReport = Awaited<ReturnType<typeof readReport>>;

type CheckScope = Pick<DiagnosisScope, 'selector' | 'minNodes' | 'hasControlPlane'>;

export interface CheckOptions extends CheckScope {
  readonly wait?: Pick<PollOptions<CheckReport>, 'timeoutMs' | 'onAnswer' | 'onFailure'> | undefined;
}

/** An API server that restarts answers earlier. A wrong address never answers. */
const FIRST_CONTACT_MS = 30_000;

export async function checkCluster(
  api: KubeApi,
  { wait, ...scope }: CheckOptions = { hasControlPlane: true },
): Promise<CheckReport> {
  const read = (signal: AbortSignal): Promise<CheckReport> => readReport(api, scope, signal);
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

async function readReport(api: KubeApi, scope: CheckScope, signal: AbortSignal) {
  const others = Promise.all([
    readGuardReports(api, signal),
    readPendingCertificateRequests(api, signal),
    scope.minNodes === undefined && scope.hasControlPlane ? readControlPlaneReplicas(api, signal) : undefined,
  ]);
  const readAndCheck = async () => {
    const snapshot = await readClusterSnapshot(api, scope.selector, signal);
    const [guardReports, { requests: pendingRequests }, controlPlaneReplicas] = await others;
    const known = { ...scope, now: new Date(), guardReports };
    return diagnose({ ...snapshot, pendingRequests, controlPlaneReplicas }, known);
  };
  const checkTwice = async () => {
    const cluster = await readAndCheck();
    // Between two lists a node can change its config, and its old config can be deleted.
    return cluster.ok || cluster.recoverable ? cluster : await readAndCheck();
  };
  // The others are part of it, so that no rejection stays unhandled if another read rejects first.
  const [{ repairs, ...cluster }, [, pendingCertificateRequests]] = await Promise.all([checkTwice(), others]);
  return {
    server: api.address,
    checkedAt: new Date().toISOString(),
    waitedSeconds: 0,
    ...cluster,
    pendingCertificateRequests,
    repairs: repairs.flatMap(({ text, command, alternative }) => [{ ...advise(text, command), alternative }]),
  };
}
