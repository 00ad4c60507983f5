import { advise } from '../../client/output/advice.ts';
import { countNoun } from '../../common/printable-text.ts';
import { parseSettings } from '../../decision/settings.ts';
import { GUARD_PATH, INSTALLED_NAME, leasesPath, objectPath } from '../../kube/api-paths.ts';
import type { KubeApi } from '../../kube/api.ts';
import { orForbidden, readObject } from '../../client/cluster-access.ts';
import type { StoredGuard } from '../../client/guard-report.ts';
import {
  type Diagnosis,
  findCallFailure,
  findFloorGap,
  findGuardAbsence,
  type Protection,
  toBlocked,
  toFloorProtection,
  toProtected,
  toUnprotected,
} from './diagnosis.ts';
import {
  type Evidence,
  findMainWebhook,
  type PolicyBinding,
  readDeployment,
  readFloor,
  readWebhooks,
} from './evidence.ts';

/** The state of one cluster in the JSON of `status`. Its keys are a contract. Unknown values are null. */
export interface ClusterStatus extends Protection {
  readonly server: string;
  /** What the state follows from, as sentences. */
  readonly evidence: readonly string[];
  /** The parts of the evidence that the user may not read. Their values are null. */
  readonly unreadable: readonly EvidencePart[];
  readonly version: string | null;
  readonly mode: string | null;
  readonly failurePolicy: string | null;
  readonly replicas: number | null;
  readonly readyReplicas: number | null;
  /** The pod that writes the status. */
  readonly leader: string | null;
  readonly leaderRenewedAt: string | null;
  readonly certificates: CertificateState | null;
  readonly protectedConfigs: number | null;
  readonly danglingCount: number | null;
  readonly lastDenial: { readonly time: string; readonly name: string; readonly user: string } | null;
}

export type EvidencePart = 'webhook' | 'policy floor' | 'Deployment' | 'Lease';

/** The condition CertificatesValid. */
export interface CertificateState {
  readonly valid: boolean;
  readonly reason: string;
  readonly message: string;
}

export interface LeaderState {
  readonly holder: string;
  readonly renewedAt: string;
  readonly durationSeconds: number;
}

/** What a cluster says without a test. `undefined`: the user lacks the right. `null`: the object does not exist. */
export interface StatusEvidence extends Pick<Evidence, 'namespace' | 'deployment'> {
  readonly guard: StoredGuard | null;
  readonly webhooks: Evidence['webhooks'] | undefined;
  readonly floor: readonly PolicyBinding[] | undefined;
  readonly lease: LeaderState | null | undefined;
}

interface StoredLease {
  readonly spec?: {
    readonly holderIdentity?: string | null;
    readonly renewTime?: string | null;
    readonly leaseDurationSeconds?: number | null;
  };
}

/** The clocks of this machine and of the guard can differ. */
const CLOCK_TOLERANCE_SECONDS = 60;
export const VERIFY_ADVICE = advise('test a deletion', ['machineconfig-guard', 'verify']);

/**
 * Reads what the cluster says about its guard, and tries no deletion.
 *
 * @throws ClusterAccessError, TimeoutError
 */
export async function readClusterStatus(api: KubeApi, namespace: string): Promise<ClusterStatus> {
  // The first read fails soon if the API server is unreachable.
  const guard = (await readObject(api, GUARD_PATH)) as StoredGuard | undefined;
  const [webhooks, floor, deployment, lease] = await Promise.all([
    orForbidden(readWebhooks(api)),
    orForbidden(readFloor(api)),
    orForbidden(readDeployment(api, namespace)),
    orForbidden(readLease(api, namespace)),
  ]);
  const evidence = { namespace, guard: guard ?? null, webhooks, floor, deployment, lease };
  return { server: api.address, ...summarizeEvidence(evidence, new Date()) };
}

/** Without the address of the server. */
export function summarizeEvidence(evidence: StatusEvidence, now: Date): Omit<ClusterStatus, 'server'> {
  const { guard, webhooks, deployment, lease } = evidence;
  const status = guard?.status ?? {};
  const parts = Object.entries(describeParts(evidence, now)) as [EvidencePart, string | null | undefined][];
  const webhook = webhooks === undefined ? undefined : findMainWebhook(webhooks);
  const { time, name, user } = status.lastDenial ?? {};
  return {
    ...assessEvidence(evidence, now),
    evidence: parts.map(([part, text]) => `${part}: ${text === undefined ? 'not readable' : (text ?? 'none')}`),
    unreadable: parts.flatMap(([part, text]) => (text === undefined ? [part] : [])),
    version: status.version ?? null,
    mode: guard === null ? null : parseSettings(guard).settings.mode,
    failurePolicy: webhook?.failurePolicy ?? null,
    replicas: deployment?.replicas ?? null,
    readyReplicas: deployment?.readyReplicas ?? null,
    // The identity is the name of the pod and a random part.
    leader: lease?.holder.replace(/_.*$/, '') ?? null,
    leaderRenewedAt: lease?.renewedAt ?? null,
    certificates: findCertificates(guard),
    protectedConfigs: status.protectedConfigs ?? null,
    danglingCount: status.danglingCount ?? null,
    lastDenial: time === undefined || name === undefined ? null : { time, name, user: user ?? '' },
  };
}

function assessEvidence(evidence: StatusEvidence, now: Date): Protection {
  const { guard, webhooks, deployment, lease } = evidence;
  if (webhooks === undefined) {
    const reason = 'you may not list validatingwebhookconfigurations, so it is unknown whether the guard is installed';
    return toUnprotected('UNKNOWN', reason, advise('ask for the ClusterRole machineconfig-guard-reader'));
  }
  const webhook = findMainWebhook(webhooks);
  // Deployment, Lease, mode and status are those of the manifests.
  if (webhook?.installation === 'dev') {
    const reason = 'only the command dev is registered, and the cluster does not show whether it runs';
    return toUnprotected('UNKNOWN', reason, VERIFY_ADVICE);
  }
  const { mode } = parseSettings(guard ?? {}).settings;
  const absence = findGuardAbsence({ webhooks, mode });
  if (absence !== undefined) return assessFloor(evidence, absence);
  const failure = findCallFailure({ ...evidence, webhooks }) ?? findExpiry(guard);
  if (failure !== undefined && webhook?.failurePolicy === 'Ignore') {
    return assessFloor(evidence, { ...failure, reason: `${failure.reason}, and its failurePolicy is Ignore` });
  }
  if (failure !== undefined) return toBlocked(failure);
  const isLeaderSilent = lease !== undefined && lease !== null && !isFresh(lease, now);
  if (isLeaderSilent) {
    const reason = `the leader has not renewed its Lease since ${lease.renewedAt}, so the guard may be cut off`;
    return toUnprotected('UNKNOWN', reason, VERIFY_ADVICE);
  }
  if ((deployment?.readyReplicas ?? 0) > 0)
    return toProtected('guard', 'the guard is registered, and a replica is ready');
  if ((lease ?? null) !== null) return toProtected('guard', 'the guard is registered, and its leader renews the Lease');
  const reason = 'the webhook is registered, but no Deployment or Lease that you may read shows that the guard runs';
  return toUnprotected('UNKNOWN', reason, VERIFY_ADVICE);
}

function findExpiry(guard: StoredGuard | null): Diagnosis | undefined {
  const certificates = findCertificates(guard);
  if (certificates?.valid !== false) return undefined;
  const advice = advise('see docs/runbooks/MachineConfigGuardCertificateExpiring.md');
  return { reason: `a certificate of the guard has expired (${certificates.message})`, advice };
}

/** What protects without the guard. */
function assessFloor({ floor }: StatusEvidence, gap: Diagnosis): Protection {
  const { reason, advice } = gap;
  if (floor === undefined) {
    const explanation = `${reason}, and you may not read the bindings of the policy floor`;
    return toUnprotected('UNKNOWN', explanation, advice);
  }
  return isFloorComplete(floor)
    ? toFloorProtection('only the policy floor is active', gap)
    : toUnprotected('EXPOSED', reason, advice);
}

function isFloorComplete(floor: readonly PolicyBinding[]): boolean {
  return (['Node', 'MachineConfigPool'] as const).every((kind) => findFloorGap(floor, kind) === undefined);
}

function findCertificates(guard: StoredGuard | null): CertificateState | null {
  const condition = guard?.status?.conditions?.find(({ type }) => type === 'CertificatesValid');
  if (condition === undefined) return null;
  const { status, reason, message } = condition;
  return { valid: status === 'True', reason, message };
}

function isFresh({ renewedAt, durationSeconds }: LeaderState, now: Date): boolean {
  const ageSeconds = (now.getTime() - new Date(renewedAt).getTime()) / 1_000;
  return ageSeconds <= durationSeconds + CLOCK_TOLERANCE_SECONDS;
}

/** Like {@link StatusEvidence}, `null` and `undefined` tell an absent object from an unreadable one. */
function describeParts(
  { webhooks, floor, deployment, lease }: StatusEvidence,
  now: Date,
): Record<EvidencePart, string | null | undefined> {
  const webhook = webhooks && (findMainWebhook(webhooks) ?? null);
  const caBundle = webhook?.caBundle === true ? 'a' : 'no';
  return {
    webhook: webhook && `${webhook.configuration} with failurePolicy ${webhook.failurePolicy} and ${caBundle} caBundle`,
    'policy floor': floor && (isFloorComplete(floor) ? 'active' : 'not active'),
    Deployment: deployment && `${deployment.readyReplicas} of ${countNoun(deployment.replicas, 'replica')} ready`,
    Lease: lease && `renewed at ${lease.renewedAt}${isFresh(lease, now) ? '' : ', too long ago'}`,
  };
}

/** Null without a leader. */
async function readLease(api: KubeApi, namespace: string): Promise<LeaderState | null> {
  const path = objectPath(leasesPath(namespace), INSTALLED_NAME);
  const { spec } = ((await readObject(api, path)) ?? {}) as StoredLease;
  const { holderIdentity, renewTime, leaseDurationSeconds } = spec ?? {};
  if ((holderIdentity ?? '') === '' || typeof renewTime !== 'string') return null;
  return {
    holder: holderIdentity ?? '',
    renewedAt: renewTime,
    durationSeconds: leaseDurationSeconds ?? 0,
  };
}
