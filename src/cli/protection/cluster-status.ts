import type { StoredGuard } from '../../client/guard-report.ts';
import { type Evidence, findCondition, type PolicyBinding } from './evidence.ts';
import { deriveProtection, type Protection, type ProtectionState } from './protection.ts';

/** The JSON of `status`. Its keys are a contract. */
export interface StatusReport {
  readonly readAt: string;
  readonly clusters: readonly ClusterStatus[];
}

/** One cluster. Unknown values are null. */
export interface ClusterStatus extends Omit<Protection, 'state'> {
  readonly context: string;
  /** Null if the kubeconfig has no usable server. */
  readonly server: string | null;
  readonly state: ProtectionState | 'UNREACHABLE';
  /** What was not read, for lack of a right or after an error. The values are null. */
  readonly unreadable: readonly (keyof Evidence)[];
  readonly version: string | null;
  readonly mode: string | null;
  readonly failurePolicy: string | null;
  readonly floor: readonly PolicyBinding[] | null;
  readonly replicas: number | null;
  readonly readyReplicas: number | null;
  /** The pod that writes the status. */
  readonly leader: string | null;
  readonly leaderRenewedAt: string | null;
  /** The condition CertificatesValid. */
  readonly certificates: Readonly<{ valid: boolean; reason: string; message: string }> | null;
  readonly protectedConfigs: number | null;
  readonly danglingCount: number | null;
  readonly lastDenial: NonNullable<StoredGuard['status']>['lastDenial'] | null;
}

export function summarizeEvidence(evidence: Evidence): Omit<ClusterStatus, 'context' | 'server'> {
  const { guard, mode, floor, deployment, lease } = evidence;
  const status = guard?.status ?? {};
  const certificates = findCondition(guard, 'CertificatesValid');
  const { reason = '', message = '' } = certificates ?? {};
  return {
    ...deriveProtection(evidence),
    unreadable: (Object.keys(evidence) as (keyof Evidence)[]).filter((part) => evidence[part] === undefined),
    version: status.version ?? null,
    mode,
    failurePolicy: evidence.webhooks?.[0]?.failurePolicy ?? null,
    floor: floor ?? null,
    replicas: deployment?.replicas ?? null,
    readyReplicas: deployment?.readyReplicas ?? null,
    // The identity is the name of the pod and a random part.
    leader: lease?.holder.replace(/_.*$/, '') ?? null,
    leaderRenewedAt: lease?.renewedAt ?? null,
    certificates: certificates ? { valid: certificates.status === 'True', reason, message } : null,
    protectedConfigs: status.protectedConfigs ?? null,
    danglingCount: status.danglingCount ?? null,
    lastDenial: status.lastDenial ?? null,
  };
}
