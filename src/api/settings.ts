import { parseDuration } from '../common/duration.ts';
import { toPrintableLine } from '../common/printable-text.ts';

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
  /** The mode that was read last, if it is too old to apply. Then `mode` is Enforce: see `findCurrentSettings`. */
  readonly outdatedMode?: Mode;
}

/** The settings of a running guard, as last read. See `findCurrentSettings`. */
export interface FollowedSettings {
  /** Undefined until they were read. */
  readonly settings: Settings | undefined;
  /** When they were read, by the monotonic clock. Undefined before, or if they cannot change. */
  readonly readAt?: number | undefined;
}

/** Used if the MachineConfigGuard is absent or empty. A virtual machine boots within the hold. */
export const DEFAULT_SETTINGS: Settings = { mode: 'Enforce', holdSupersededMs: 2 * 3_600_000 };

/** 30 days, as in the schema of MachineConfigGuard. */
const MAX_HOLD_MS = 30 * 86_400_000;
/** The schema has fewer units than Go, and no fractions. */
const SCHEMA_DURATION = /^(?:\d{1,9}(?:h|m|s|ms))+$/;

/** Whether the API server accepts a `holdSuperseded`. */
export function isHold(value: string): boolean {
  const ms = SCHEMA_DURATION.test(value) ? parseDuration(value) : undefined;
  return ms !== undefined && ms <= MAX_HOLD_MS;
}

export interface ParsedSettings {
  readonly settings: Settings;
  /** Says which fields are invalid, and what applies instead. */
  readonly problems: readonly string[];
}

/**
 * An invalid mode means Enforce, and an invalid hold the longest one, because a mistake must not unprotect a config.
 * The last valid hold would differ between replicas and after a restart. Only an older schema accepts invalid fields.
 */
export function parseSettings(object: unknown): ParsedSettings {
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
