import { readFile } from 'node:fs/promises';

import { WEBHOOK_NAME } from '../../../src/install/webhook-configuration.ts';
import { until } from '../control-plane/until.ts';

/** A line of the API server's audit log at level Metadata, as far as the tests read it. */
export interface AuditEvent {
  readonly auditID: string;
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly userAgent?: string;
  readonly requestURI: string;
  readonly objectRef?: { readonly resource: string; readonly name?: string; readonly apiGroup?: string };
  readonly responseStatus?: { readonly code: number; readonly reason?: string; readonly message?: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What the guard leaves in the audit log. */
export interface AuditedVerdict {
  readonly name: string;
  readonly code: string;
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

  /** Every event that satisfies the question, oldest first. */
  async events(isWanted: (event: AuditEvent) => boolean): Promise<readonly AuditEvent[]> {
    const lines = (await readFile(this.#file, 'utf8')).split('\n');
    // The last line may be half written.
    return lines
      .slice(0, -1)
      .map((line) => JSON.parse(line) as AuditEvent)
      .filter(isWanted);
  }

  /** The event of a request, by the id in its answer. It is written when the answer has been, so it may take a moment. */
  event(auditId: string): Promise<AuditEvent> {
    return until(`the audit event ${auditId}`, async () => (await this.events((e) => e.auditID === auditId))[0], {
      timeoutMs: 5_000,
    });
  }
}

/** What the guard (or another of that name) wrote under each of its keys in this event. */
export function auditedVerdicts(
  event: AuditEvent,
  name = WEBHOOK_NAME,
): Partial<Record<AuditedOutcome, AuditedVerdict>> {
  const prefix = `${name}/`;
  const entries = Object.entries(event.annotations ?? {}).filter(([key]) => key.startsWith(prefix));
  return Object.fromEntries(
    entries.map(([key, value]) => [key.slice(prefix.length), JSON.parse(value) as AuditedVerdict]),
  );
}
