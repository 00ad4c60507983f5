import type { KubeApi } from '../../kube/api.ts';
import { type PendingCertificateRequests, readPendingCertificateRequests } from '../../client/certificate-requests.ts';
import { isNotServed, isRetryableRead } from '../../client/cluster-access.ts';
import { type EarlierSnapshot, readClusterSnapshot, readControlPlaneSize } from '../../client/cluster-reader.ts';
import { readGuardReports } from '../../client/guard-report.ts';
import { type PollOptions, pollUntilSettled, readWithRetries } from '../../client/poll.ts';
import { NEVER_ABORTED } from '../../common/wait.ts';
import type { Cause } from '../../diagnosis/cause.ts';
import type { DiagnosisScope } from '../../diagnosis/cluster.ts';
import type { ClusterSnapshot } from '../../diagnosis/cluster-snapshot.ts';
import { diagnose, type Diagnosis } from '../../diagnosis/diagnose.ts';
import { readObstacles } from './read-obstacles.ts';

/** The JSON of `check --output json`. Its keys are a contract. Unknown values are null. */
export interface CheckReport extends Diagnosis {
  /** Host and port of the API server. */
  readonly server: string;
  /** RFC 3339. */
  readonly checkedAt: string;
  /** How long `--wait` has waited, in seconds. */
  readonly waitedSeconds: number;
  readonly pendingCertificateRequests: PendingCertificateRequests;
}

/** A report, and the causes that its text explains. */
export interface ClusterCheck {
  readonly report: CheckReport;
  readonly causes: readonly Cause[];
}

type CheckScope = Pick<DiagnosisScope, 'selector' | 'minNodes' | 'hasControlPlane'>;

export interface CheckOptions extends CheckScope {
  readonly wait?: Pick<PollOptions<ClusterCheck>, 'timeoutMs' | 'onAnswer' | 'onFailure'> | undefined;
}

/** An API server that restarts answers earlier. A wrong address never answers. */
const FIRST_CONTACT_MS = 30_000;

/**
 * Reads a cluster, and finds why nodes and pools do not move. With `wait`, it reads again until the result is fine, or
 * until waiting cannot help.
 * @throws ClusterAccessError, or TimeoutError if the API server does not answer in time
 */
export async function checkCluster(
  api: KubeApi,
  { wait, ...scope }: CheckOptions = { hasControlPlane: true },
): Promise<ClusterCheck> {
  const read = (signal: AbortSignal): Promise<ClusterCheck> => readResult(api, scope, signal);
  if (wait === undefined) return await readWithRetries(read);
  const { answer, elapsedMs } = await pollUntilSettled({
    ...wait,
    signal: NEVER_ABORTED,
    read,
    isSettled: ({ report: { ok, recoverable } }) => ok || !recoverable,
    retryUntilMs: (error, hasAnswered) => {
      if (isNotServed(error)) return wait.timeoutMs;
      if (!isRetryableRead(error)) return 0;
      return hasAnswered ? wait.timeoutMs : FIRST_CONTACT_MS;
    },
  });
  return { ...answer, report: { ...answer.report, waitedSeconds: Math.round(elapsedMs / 1_000) } };
}

async function readResult(api: KubeApi, scope: CheckScope, signal: AbortSignal): Promise<ClusterCheck> {
  const { minNodes, hasControlPlane } = scope;
  // They do not change while nodes and pools are read.
  const [guardReports, pendingCertificateRequests, controlPlaneSize] = await Promise.all([
    readGuardReports(api, signal),
    readPendingCertificateRequests(api, signal),
    minNodes === undefined && hasControlPlane ? readControlPlaneSize(api, signal) : undefined,
  ]);
  // The clock of the user can differ.
  const known = { ...scope, now: api.now(), guardReports };
  const readSnapshot = async (earlier?: EarlierSnapshot): Promise<ClusterSnapshot> => {
    const snapshot = await readClusterSnapshot(api, scope.selector, signal, earlier);
    return { ...snapshot, pendingRequests: pendingCertificateRequests.requests, controlPlaneSize };
  };

  const first = await readSnapshot();
  const { ok, recoverable, problems } = diagnose(first, known);
  // Between two lists a node can change its config, and its old config can be deleted.
  const doubtful = new Set(problems.flatMap(({ kind, name }) => (kind === 'Node' && name !== null ? [name] : [])));
  const snapshot = ok || recoverable ? first : await readSnapshot({ snapshot: first, doubtful });
  const obstacles = await readObstacles(api, snapshot, known.now, signal);
  const unreadable = [...(snapshot.unreadable ?? []), ...obstacles.unreadable];

  const { causes, ...diagnosis } = diagnose({ ...snapshot, ...obstacles, unreadable }, known);
  const report = {
    server: api.address,
    checkedAt: known.now.toISOString(),
    waitedSeconds: 0,
    ...diagnosis,
    pendingCertificateRequests,
  };
  return { report, causes };
}
