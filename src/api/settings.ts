import { parseDuration } from '../common/duration.ts';
import { isVisible, toPrintableLine } from '../common/printable-text.ts';

/** Every mode, the strictest first. */
export const MODES = ['Enforce', 'Warn', 'Audit', 'Disabled'] as const;

/**
 * Enforce denies a deletion, Warn allows it with a warning to the client, Audit allows and records it. Disabled
 * allows every deletion without reading the cluster.
 */
export type Mode = (typeof MODES)[number];

export interface Settings {
  readonly mode: Mode;
  /** How long a config is held after a pool last named it; 0 means no hold. */
  readonly holdSupersededMs: number;
}

/** Used if the MachineConfigGuard is absent or empty. A virtual machine boots within the hold. */
export const DEFAULT_SETTINGS: Settings = { mode: 'Enforce', holdSupersededMs: 2 * 3_600_000 };

/** Allows the deletion of its MachineConfig. The value is the reason and must not be empty. */
export const ALLOW_DELETION_ANNOTATION = 'machineconfig-guard.io/allow-deletion';

/** Returns the reason in the annotation. Without a visible one it allows nothing. */
export function findOverrideReason(annotation: unknown): string | undefined {
  const reason = typeof annotation === 'string' ? annotation.trim() : '';
  return isVisible(reason) ? reason : undefined;
}

/** 30 days, as in the schema of MachineConfigGuard. */
const MAX_HOLD_MS = 30 * 86_400_000;
/** The schema has fewer units than Go, and no fractions. */
const SCHEMA_DURATION = /^(?:\d{1,9}(?:h|m|s|ms))+$/;

/** Whether the API server accepts a `holdSuperseded`. */
export function isHold(value: string): boolean {
  const ms = SCHEMA_DURATION.test(value) ? parseDuration(value) : undefined;
  return ms !== undefined && ms <= MAX_HOLD_MS;
}

/**
 * An invalid mode means Enforce, and an invalid hold the longest one, because a mistake must not unprotect a config.
 * The last valid hold would differ between replicas and after a restart. Only an older schema accepts invalid fields.
 */
export function parseSettings(object: unknown): { readonly settings: Settings; readonly problems: readonly string[] } {
  const { spec } = (object ?? {}) as { readonly spec?: { mode?: unknown; holdSuperseded?: unknown } | null };
  const { mode = DEFAULT_SETTINGS.mode, holdSuperseded } = spec ?? {};
  const problems: string[] = [];
  const validMode = MODES.find((candidate) => candidate === mode);
  if (validMode === undefined) {
    problems.push(`spec.mode ${quote(mode)} is not one of ${MODES.join(', ')}; using ${DEFAULT_SETTINGS.mode}`);
  }
  const ms = typeof holdSuperseded === 'string' ? parseDuration(holdSuperseded) : undefined;
  const holdMs = holdSuperseded === undefined ? DEFAULT_SETTINGS.holdSupersededMs : ms;
  const isValid = holdMs !== undefined && holdMs <= MAX_HOLD_MS;
  if (!isValid) {
    problems.push(`spec.holdSuperseded ${quote(holdSuperseded)} is not a duration of at most 720h; using 720h`);
  }
  const holdSupersededMs = isValid ? holdMs : MAX_HOLD_MS;
  return { settings: { mode: validMode ?? DEFAULT_SETTINGS.mode, holdSupersededMs }, problems };
}

function quote(value: unknown): string {
  return toPrintableLine(JSON.stringify(value), 60);
}

/*
 * The API server waits for the webhook's timeoutSeconds, and then its failurePolicy decides. The guard answers earlier:
 *
 *   ms
 *   5,000  the API server waits (manifests/base/webhook.yaml)
 *   3,800  the guard decides with what it has read: 76 %. The rest is for the event loop and the network.
 *
 * Within the 3,800 ms, one after another:
 *
 *   2,000  at most for the GET that finds the config, if the index does not know it
 *   1,250  at most for the GET that confirms a referrer from the index
 *     550  at least for the live read. Normally it gets more than 3,700: the index knows the config, and a GET takes 2.
 *
 * A live read starts every LATE_READ_MS while lists take longer. So reviews are answered in time if a list takes up to
 * 2,500 ms.
 */

/** Longer than the second of silence after which the API client closes its idle connections. */
export const LOOK_UP_TIMEOUT_MS = 2_000;
export const CONFIRM_TIMEOUT_MS = 1_250;
/** The look-up for an override, which must also work while the API server cannot be reached. */
export const OVERRIDE_LOOK_UP_TIMEOUT_MS = 500;
/** After this time, the next live read starts beside a running one. */
export const LATE_READ_MS = 1_250;

/** Of a webhook's timeout (kubernetes, admissionregistration/v1). A shorter one is from another client. */
const MIN_TIMEOUT_MS = 1_000;
const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_TIMEOUT_MS = 30_000;
const TIMEOUT_SHARE = 0.76;

export function computeDeadlineMs(timeout: unknown): number {
  const requestedMs = typeof timeout === 'string' ? (parseDuration(timeout) ?? 0) : 0;
  const timeoutMs =
    requestedMs <= 0 ? DEFAULT_TIMEOUT_MS : Math.max(MIN_TIMEOUT_MS, Math.min(requestedMs, MAX_TIMEOUT_MS));
  return Math.floor(timeoutMs * TIMEOUT_SHARE);
}
