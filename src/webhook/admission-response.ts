import { toPrintableLine } from '../decision/printable-text.ts';
import type { Verdict } from '../decision/verdict.ts';

/** Enough to find the culprits; an audit event is kept for long and there are many. */
const AUDITED_REFERRERS = 10;

/**
 * What the audit log keeps. The key is the outcome: a DELETECOLLECTION is one audit event in which the first value of a
 * key wins, so that a shared key would show the outcome of an object that was deleted as that of one that was refused.
 */
export function toAuditAnnotations(verdict: Verdict): Record<string, string> {
  if (verdict.config === undefined) return {};
  const referrers = verdict.references.slice(0, AUDITED_REFERRERS);
  return {
    [verdict.outcome]: JSON.stringify({
      name: toPrintableLine(verdict.config, 253),
      code: verdict.code,
      ...(verdict.cause === undefined ? {} : { cause: verdict.cause }),
      referrers: referrers.map(({ kind, name, field }) => ({ kind, name, field })),
      more: verdict.referencesTotal - referrers.length,
      ...(verdict.overrideReason === undefined ? {} : { reason: toPrintableLine(verdict.overrideReason, 256) }),
    }),
  };
}

/** The body of an answer: an AdmissionReview of `admission.k8s.io/v1`. */
export interface AdmissionReviewResponse {
  readonly apiVersion: 'admission.k8s.io/v1';
  readonly kind: 'AdmissionReview';
  readonly response: {
    readonly uid: string;
    readonly allowed: boolean;
    readonly status?: {
      readonly status: 'Failure';
      readonly message: string;
      readonly reason: string;
      readonly code: number;
    };
    readonly warnings?: readonly string[];
    readonly auditAnnotations?: Readonly<Record<string, string>>;
  };
}

/** The verdict in the form that the API server reads. Allowed is what carries no refusal, and nothing else. */
export function toAdmissionReview(uid: string, verdict: Verdict): AdmissionReviewResponse {
  const audit = toAuditAnnotations(verdict);
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: {
      uid,
      allowed: verdict.denialStatus === undefined,
      ...(verdict.denialStatus === undefined
        ? {}
        : { status: { status: 'Failure', message: verdict.message, ...verdict.denialStatus } }),
      ...(verdict.warnings.length === 0 ? {} : { warnings: verdict.warnings }),
      ...(Object.keys(audit).length === 0 ? {} : { auditAnnotations: audit }),
    },
  };
}
