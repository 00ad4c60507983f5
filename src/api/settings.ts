import { parseDuration } from '../common/duration.ts';
import type { Moment } from '../common/wait.ts';

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
  /** When they were read. Undefined before, or if they cannot change. */
  readonly readAt?: Moment | undefined;
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

/**
 * An invalid mode means Enforce, and an invalid hold the longest one, because a mistake must not unprotect a config.
 * The last valid hold would differ between replicas and after a restart. Only an older schema accepts invalid fields.
 */
export function parseSettings(object: unknown): Settings {
  const { spec } = (object ?? {}) as { readonly spec?: { mode?: unknown; holdSuperseded?: unknown } | null };
  const { mode, holdSuperseded } = spec ?? {};
  const validMode = MODES.find((candidate) => candidate === mode) ?? DEFAULT_SETTINGS.mode;
  if (holdSuperseded === undefined) return { ...DEFAULT_SETTINGS, mode: validMode };
  const holdMs = typeof holdSuperseded === 'string' ? parseDuration(holdSuperseded) : undefined;
  return { mode: validMode, holdSupersededMs: Math.min(holdMs ?? MAX_HOLD_MS, MAX_HOLD_MS) };
}
