import type { Code } from './codes.ts';
import type { ConfigName } from './config-name.ts';
import { oneLine } from './line.ts';
import type { Reference } from './references.ts';

/** How a review ended. Also the key of its audit annotation: one key an outcome (see {@link auditAnnotations}). */
export type Outcome = 'allowed' | 'denied' | 'would-deny' | 'overridden';

/** HTTP status of a refusal, as the client of the API server will see it. */
export interface Refusal {
  readonly code: 400 | 403 | 503;
  readonly reason: 'BadRequest' | 'Forbidden' | 'ServiceUnavailable';
}

/** The answer to one review, complete: everything that is sent, logged, audited and counted derives from it. */
export interface Verdict {
  readonly outcome: Outcome;
  readonly code: Code;
  /** In Warn and Audit: the code with which Enforce would have refused. */
  readonly cause?: Code;
  /** Undefined where the request was not about a MachineConfig. */
  readonly config: ConfigName | undefined;
  readonly message: string;
  /** Present exactly if the outcome is `denied`. */
  readonly refusal?: Refusal;
  /** What uses the config, or mentions it: the first of them. */
  readonly referrers: readonly Reference[];
  /** How many of them there are. */
  readonly referrersTotal: number;
  /** Shown to the client by the API server; each at most 120 characters. */
  readonly warnings: readonly string[];
  /** Why a person overrode the guard, in their words. */
  readonly overrideReason?: string;
}

/** Enough to find the culprits; an audit event is kept for long and there are many. */
const AUDITED_REFERRERS = 10;

/**
 * What the audit log keeps. The key is the outcome: a DELETECOLLECTION is one audit event in which the first value of a
 * key wins, so that a shared key would show the outcome of an object that was deleted as that of one that was refused.
 */
export function auditAnnotations(verdict: Verdict): Record<string, string> {
  if (verdict.config === undefined) return {};
  const referrers = verdict.referrers.slice(0, AUDITED_REFERRERS);
  return {
    [verdict.outcome]: JSON.stringify({
      name: oneLine(verdict.config, 253),
      code: verdict.code,
      ...(verdict.cause === undefined ? {} : { cause: verdict.cause }),
      referrers: referrers.map(({ kind, name, field }) => ({ kind, name, field })),
      more: verdict.referrersTotal - referrers.length,
      ...(verdict.overrideReason === undefined ? {} : { reason: oneLine(verdict.overrideReason, 256) }),
    }),
  };
}

/** The body of an answer: an AdmissionReview of `admission.k8s.io/v1`. */
export interface AdmissionAnswer {
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
export function admissionAnswer(uid: string, verdict: Verdict): AdmissionAnswer {
  const audit = auditAnnotations(verdict);
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: {
      uid,
      allowed: verdict.refusal === undefined,
      ...(verdict.refusal === undefined
        ? {}
        : { status: { status: 'Failure', message: verdict.message, ...verdict.refusal } }),
      ...(verdict.warnings.length === 0 ? {} : { warnings: verdict.warnings }),
      ...(Object.keys(audit).length === 0 ? {} : { auditAnnotations: audit }),
    },
  };
}
