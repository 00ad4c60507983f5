import type { ConfigName, NamedReference } from '../mco/referrer.ts';

export interface Review {
  readonly uid: string;
  readonly isDryRun: boolean;
  readonly user: string;
  /** Undefined if the request is not the deletion of a MachineConfig. */
  readonly config: ConfigToDelete | undefined;
}

export interface HoldableConfig {
  readonly name: ConfigName;
  readonly ownerPool?: string;
  readonly createdAt: Date | undefined;
}

export interface ConfigToDelete extends HoldableConfig {
  readonly uid: string;
  /** The value of its allow-deletion annotation, at most 256 characters. */
  readonly allowDeletion?: string;
}

/** Messages, audit annotations, logs and metrics contain these codes. */
export const CODE_DESCRIPTIONS = {
  MCG_IN_USE: 'Denied: a node, a pool or an unfinished build references the config.',
  MCG_HELD:
    'Denied: a machine may be booting with the config, because its pool may have named it within spec.holdSuperseded.',
  MCG_UNVERIFIED: 'Denied: the guard could not list all references in time, or the config does not exist.',
  MCG_UNKNOWN_CONFIG: 'Denied: a node or a pool would name a text that no rendered MachineConfig can have.',
  MCG_NOT_IN_USE: 'Allowed: no node, pool or unfinished build references the config.',
  MCG_NOT_RENDERED: 'Allowed without a check: the request is not the deletion of a rendered MachineConfig.',
  MCG_OVERRIDDEN: 'Allowed: the config has the allow-deletion annotation with a reason.',
  MCG_WOULD_DENY: 'Allowed by mode Warn or Audit. Mode Enforce would deny it.',
  MCG_DISABLED: 'Allowed: the mode is Disabled.',
  MCG_BAD_REVIEW: 'Denied: the request is not a valid AdmissionReview.',
} as const;

export type Code = keyof typeof CODE_DESCRIPTIONS;

export const DOCS_BASE = 'https://github.com/machineconfig-guard/machineconfig-guard/blob/main/docs';

/** A disconnected cluster cannot reach the page, so the note also names the command that prints it. */
export function formatHelpNote(code: Code): string {
  return `Run machineconfig-guard explain ${code}, or see ${DOCS_BASE}/codes.md#${code.toLowerCase()}`;
}

/** Audit events, log lines and the status are kept for a long time. */
export const MAX_RECORDED_REFERRERS = 10;

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
  /** The first references to the config: strong ones in a denial, weak ones otherwise. */
  readonly references: readonly NamedReference[];
  readonly referencesTotal: number;
  /** For the client, at most 120 characters each. */
  readonly warnings: readonly string[];
  readonly overrideReason?: string;
}

export function toRecordedReferrers({ references }: Verdict): Pick<NamedReference, 'kind' | 'name' | 'field'>[] {
  return references.slice(0, MAX_RECORDED_REFERRERS).map(({ kind, name, field }) => ({ kind, name, field }));
}
