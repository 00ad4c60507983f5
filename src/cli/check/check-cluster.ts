import type { KubeApi } from '../../kube/api.ts';
import { type PendingCertificateRequests, readPendingCertificateRequests } from '../../client/certificate-requests.ts';
import { isNotServed, isRetryableRead } from '../../client/cluster-access.ts';
import { type EarlierSnapshot, readClusterSnapshot, readControlPlaneSize } from '../../client/cluster-reader.ts';
import { readGuardReports } from '../../client/guard-report.ts';
import { type Advice, advise } from '../../client/output/advice.ts';
import { type PollOptions, pollUntilSettled, readWithRetries } from '../../client/poll.ts';
import type { Cause } from '../../diagnosis/cause.ts';
import type { DiagnosisScope } from '../../diagnosis/cluster.ts';
import type { ClusterSnapshot, ControlPlaneSize } from '../../diagnosis/cluster-snapshot.ts';
import { diagnose, type Diagnosis, type DiagnosisResult } from '../../diagnosis/diagnose.ts';
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
  /** What to do, the best first. */
  readonly repairs: readonly RepairAdvice[];
}

export interface RepairAdvice extends Advice {
  /** Whether a person must choose: only if its text applies. */
  readonly alternative: boolean;
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
  const others = readOthers(api, scope, signal);
  // The others are part of it, so that no rejection stays unhandled if another read rejects first.
  const [result, { pendingCertificateRequests }] = await Promise.all([
    diagnoseCluster(api, scope, others, signal),
    others,
  ]);
  const { causes, repairs, ...diagnosis } = result;
  const report = {
    server: api.address,
    checkedAt: new Date().toISOString(),
    waitedSeconds: 0,
    ...diagnosis,
    pendingCertificateRequests,
    repairs: repairs.map(({ text, command, alternative }) => ({ ...advise(text, command), alternative })),
  };
  return { report, causes };
}

/** What does not change while nodes and pools are read. */
interface Others {
  readonly guardReports: NonNullable<DiagnosisScope['guardReports']>;
  readonly pendingCertificateRequests: PendingCertificateRequests;
  /** Undefined if it is not needed, or if the cluster does not say it. */
  readonly controlPlaneSize: ControlPlaneSize | undefined;
}

async function readOthers(
  api: KubeApi,
  { minNodes, hasControlPlane }: CheckScope,
  signal: AbortSignal,
): Promise<Others> {
  const [guardReports, pendingCertificateRequests, controlPlaneSize] = await Promise.all([
    readGuardReports(api, signal),
    readPendingCertificateRequests(api, signal),
    minNodes === undefined && hasControlPlane ? readControlPlaneSize(api, signal) : undefined,
  ]);
  return { guardReports, pendingCertificateRequests, controlPlaneSize };
}

async function diagnoseCluster(
  api: KubeApi,
  scope: CheckScope,
  others: Promise<Others>,
  signal: AbortSignal,
): Promise<DiagnosisResult> {
  const first = await readSnapshot(api, scope, others, signal);
  const result = diagnose(first.snapshot, first.scope);
  // Between two lists a node can change its config, and its old config can be deleted.
  const doubtful = new Set(
    result.problems.flatMap(({ kind, name }) => (kind === 'Node' && name !== null ? [name] : [])),
  );
  const earlier = { snapshot: first.snapshot, doubtful };
  const { snapshot, scope: known } =
    result.ok || result.recoverable ? first : await readSnapshot(api, scope, others, signal, earlier);
  const { unreadable, ...obstacles } = await readObstacles(api, snapshot, known.now, signal);
  return diagnose({ ...snapshot, ...obstacles, unreadable: [...(snapshot.unreadable ?? []), ...unreadable] }, known);
}

async function readSnapshot(
  api: KubeApi,
  scope: CheckScope,
  others: Promise<Others>,
  signal: AbortSignal,
  earlier?: EarlierSnapshot,
) {
  const cluster = await readClusterSnapshot(api, scope.selector, signal, earlier);
  const { guardReports, pendingCertificateRequests, controlPlaneSize } = await others;
  const pendingRequests = pendingCertificateRequests.requests;
  const snapshot: ClusterSnapshot = { ...cluster, pendingRequests, controlPlaneSize };
  const known: DiagnosisScope = { ...scope, now: new Date(), guardReports };
  return { snapshot, scope: known };
}
