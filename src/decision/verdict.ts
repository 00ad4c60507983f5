import type { Code } from './codes.ts';
import type { ConfigName } from './config-name.ts';
import type { NamedReference } from './references.ts';

/** Audit events, log lines and the status are kept for a long time. */
export const MAX_RECORDED_REFERRERS = 10;

/** Also the key of the audit annotation. */
export type Outcome = 'allowed' | 'denied' | 'would-deny' | 'overridden';

/** The HTTP status of a denial. */
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
  /** The first references to the config: strong ones in a denial, weak ones otherwise. */
  readonly references: readonly NamedReference[];
  readonly referencesTotal: number;
  /** For the client, at most 120 characters each. */
  readonly warnings: readonly string[];
  readonly overrideReason?: string;
}

/** The first references of a verdict, for audit, log and status. */
export function toRecordedReferrers({ references }: Verdict): Pick<NamedReference, 'kind' | 'name' | 'field'>[] {
  return references.slice(0, MAX_RECORDED_REFERRERS).map(({ kind, name, field }) => ({ kind, name, field }));
}
