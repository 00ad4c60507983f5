import { toPrintableLine } from '../common/printable-text.ts';
import type { Review } from './review.ts';
import { type DenialStatus, type Verdict } from './verdict.ts';

/** The outcome is the key: a DELETECOLLECTION is one audit event, which keeps only the first value of a key. */
export function toAuditAnnotations({ isDryRun }: Pick<Review, 'isDryRun'>, verdict: Verdict): Record<string, string> {
  if (verdict.config === undefined) return {};
  return {
    [verdict.outcome]: JSON.stringify({
      name: toPrintableLine(verdict.config, 253),
      code: verdict.code,
      cause: verdict.cause,
      referrers: verdict.references,
      more: verdict.referencesTotal - verdict.references.length,
      reason: verdict.overrideReason,
      ...(isDryRun && { dryRun: true }),
    }),
  };
}

/** The answer to a review (kubernetes, admission/v1/types.go). */
export interface AdmissionReviewResponse {
  readonly apiVersion: string;
  readonly kind: 'AdmissionReview';
  readonly response: {
    readonly uid: string;
    readonly allowed: boolean;
    readonly status?: DenialStatus & { readonly status: 'Failure'; readonly message: string };
    /** At most 120 characters each. */
    readonly warnings?: readonly string[];
    /** Values are JSON. The API server adds the name of the webhook to the keys. */
    readonly auditAnnotations?: Readonly<Record<string, string>>;
  };
}

/** A verdict without a denial status allows the deletion. */
export function toAdmissionReview(review: Pick<Review, 'uid' | 'isDryRun'>, verdict: Verdict): AdmissionReviewResponse {
  const { denialStatus, message, warnings } = verdict;
  const auditAnnotations = toAuditAnnotations(review, verdict);
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: {
      uid: review.uid,
      allowed: denialStatus === undefined,
      ...(denialStatus === undefined ? {} : { status: { status: 'Failure', message, ...denialStatus } }),
      ...(warnings.length === 0 ? {} : { warnings }),
      ...(Object.keys(auditAnnotations).length === 0 ? {} : { auditAnnotations }),
    },
  };
}
