import { readFile } from 'node:fs/promises';

import { WEBHOOK_NAME } from '../../../src/install/webhook-configuration.ts';
import { until } from '../control-plane/until.ts';

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
  /** When the API server had answered. */
  readonly stageTimestamp: string;
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

/** The audit log of one API server. */
export class AuditLog {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /** The events that match, oldest first. */
  async events(isWanted: (event: AuditEvent) => boolean) {
    const lines = (await readFile(this.#file, 'utf8')).split('\n');
    // The API server may still be writing the last line.
    const complete = lines.slice(0, -1);
    return complete.map((line) => JSON.parse(line) as AuditEvent).filter(isWanted);
  }

  /** Waits for the event of a request. The API server writes it after the response. */
  event(auditId: string) {
    const find = async () => (await this.events(({ auditID }) => auditID === auditId))[0];
    return until(`the audit event ${auditId}`, find);
  }
}

/** The values that a webhook or policy wrote into an audit event, by outcome. */
export function auditedVerdicts(event: AuditEvent, name = WEBHOOK_NAME) {
  const verdicts: Partial<Record<AuditedOutcome, AuditedVerdict>> = {};
  for (const [key, value] of Object.entries(event.annotations ?? {})) {
    const [writer, outcome] = key.split('/');
    if (writer === name) verdicts[outcome as AuditedOutcome] = JSON.parse(value) as AuditedVerdict;
  }
  return verdicts;
}
