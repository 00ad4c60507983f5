import { WEBHOOK_NAME } from '../../../src/install/webhook-configuration.ts';

/** Fields of an audit event at level Metadata. */
export interface AuditEvent {
  readonly auditID: string;
  readonly verb: string;
  readonly user: {
    readonly username: string;
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
  readonly userAgent?: string;
  readonly requestReceivedTimestamp: string;
  readonly objectRef?: {
    readonly resource: string;
    readonly subresource?: string;
    readonly apiGroup?: string;
    readonly namespace?: string;
    /** Also of a list or watch that selects this name. */
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code: number };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The value of an audit annotation of the guard. */
export interface AuditedVerdict {
  readonly name: string;
  readonly code: string;
  readonly cause?: string;
  readonly referrers: readonly { readonly kind: string; readonly name: string; readonly field: string }[];
  readonly more: number;
  readonly reason?: string;
}

export type AuditedOutcome = 'denied' | 'allowed' | 'would-deny' | 'overridden';

/** The values that a webhook or policy wrote into an audit event, by outcome. */
export function auditedVerdicts(event: AuditEvent, name = WEBHOOK_NAME) {
  const verdicts: Partial<Record<AuditedOutcome, AuditedVerdict>> = {};
  for (const [key, value] of Object.entries(event.annotations ?? {})) {
    const [writer, outcome] = key.split('/');
    if (writer === name) verdicts[outcome as AuditedOutcome] = JSON.parse(value) as AuditedVerdict;
  }
  return verdicts;
}
