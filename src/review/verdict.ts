import type { Code } from '../api/codes.ts';
import type { ConfigName } from '../mco/machine-config.ts';
import type { NamedReference } from '../mco/referrer.ts';

/** Audit events, log lines and the status are kept for a long time. */
export const MAX_RECORDED_REFERRERS = 10;

/** A reference in the audit log, the log and the status. */
export type RecordedReferrer = Pick<NamedReference, 'kind' | 'name' | 'field'>;

/** Also the key of the audit annotation. */
export type Outcome = 'allowed' | 'denied' | 'would-deny' | 'overridden';

export interface DenialStatus {
  readonly code: 400 | 403 | 503;
  readonly reason: 'BadRequest' | 'Forbidden' | 'ServiceUnavailable';
}

/** The response, the audit annotation, the log and the metrics derive from it. */
export interface Verdict {
  readonly outcome: Outcome;
  readonly code: Code;
  /** In the modes Warn and Audit: the code of mode Enforce. */
  readonly cause?: Code;
  /** Undefined if the request was not about a MachineConfig. */
  readonly config: ConfigName | undefined;
  readonly message: string;
  /** Present exactly if the outcome is `denied`. */
  readonly denialStatus?: DenialStatus;
  /** The first references to the config, at most {@link MAX_RECORDED_REFERRERS}. Of a denial, the strong ones. */
  readonly references: readonly RecordedReferrer[];
  readonly referencesTotal: number;
  /** For the client, at most 120 characters each. */
  readonly warnings: readonly string[];
  /** Printable. */
  readonly overrideReason?: string;
}
