import type { Code } from './codes.ts';
import type { ConfigName } from './config-name.ts';
import type { NamedReference } from './references.ts';

/** How a review ended. Also the key of its audit annotation: one key an outcome (see {@link auditAnnotations}). */
export type Outcome = 'allowed' | 'denied' | 'would-deny' | 'overridden';

/** HTTP status of a refusal, as the client of the API server will see it. */
export interface DenialStatus {
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
  readonly denialStatus?: DenialStatus;
  /** What uses the config, or mentions it: the first of them. */
  readonly references: readonly NamedReference[];
  /** How many of them there are. */
  readonly referencesTotal: number;
  /** Shown to the client by the API server; each at most 120 characters. */
  readonly warnings: readonly string[];
  /** Why a person overrode the guard, in their words. */
  readonly overrideReason?: string;
}
