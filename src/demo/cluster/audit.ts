import type { User } from './user.ts';

/** One request in the audit log, at level Metadata: what the guard's annotations are read from. */
export interface AuditEntry {
  readonly auditID: string;
  /** RFC 3339 with milliseconds. */
  readonly requestReceivedTimestamp: string;
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`. */
  readonly verb: string;
  readonly requestURI: string;
  readonly user: User;
  readonly userAgent: string;
  readonly objectRef: { readonly resource: string; readonly namespace?: string; readonly name?: string };
  readonly responseStatus: { readonly code: number; readonly reason?: string; readonly message?: string };
  /** Keys `<webhook>/<key>`. */
  readonly annotations: Readonly<Record<string, string>>;
}

/** Annotations of one request while it is served. */
export class AuditAnnotations {
  readonly #values = new Map<string, string>();

  /** Adds one. The first value of a key stays: k8s.io/apiserver, audit/context.go drops any later one. */
  add(key: string, value: string): void {
    if (!this.#values.has(key)) this.#values.set(key, value);
  }

  /** All of them. */
  get all(): Record<string, string> {
    return Object.fromEntries(this.#values);
  }
}

/** Entries kept; a test that needs more has lost its way. */
const ENTRIES_MAX = 10_000;

/** The audit log, in memory. */
export class AuditLog {
  readonly #entries: AuditEntry[] = [];

  /** Oldest first. Reads and watches are in it too. */
  get entries(): readonly AuditEntry[] {
    return this.#entries;
  }

  /** Entries of one verb, oldest first. */
  of(verb: string): AuditEntry[] {
    return this.#entries.filter((entry) => entry.verb === verb);
  }

  /** Adds an entry. */
  write(entry: AuditEntry): void {
    this.#entries.push(entry);
    if (this.#entries.length > ENTRIES_MAX) this.#entries.shift();
  }

  /** Forgets everything so far. */
  clear(): void {
    this.#entries.length = 0;
  }
}
