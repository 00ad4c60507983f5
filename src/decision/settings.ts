import { parseDuration } from './duration.ts';
import { toPrintableLine } from './printable-text.ts';

/** What a refusal means: Enforce refuses, Warn allows and warns the client, Audit allows and records, Disabled looks at nothing. */
export type Mode = (typeof MODES)[number];

/** Every mode, the strictest first. */
export const MODES = ['Enforce', 'Warn', 'Audit', 'Disabled'] as const;

/** How the guard is to decide, as set for this cluster. */
export interface Settings {
  readonly mode: Mode;
  /** For how long a superseded config is held although nothing names it, in milliseconds; 0 switches the hold off. */
  readonly holdSupersededMs: number;
}

/** What holds where nobody has said anything else: protect, and hold nothing beyond what is in use. */
export const DEFAULT_SETTINGS: Settings = { mode: 'Enforce', holdSupersededMs: 0 };

/** The annotation on a MachineConfig that allows its deletion. Its value is the reason and must not be empty. */
export const ALLOW_DELETION_ANNOTATION = 'machineconfig-guard.io/allow-deletion';

/** The longest hold that is taken for meant, as the schema of MachineConfigGuard has it: 30 days. */
const HOLD_MAX_MS = 30 * 86_400_000;

/** What a MachineConfigGuard says. */
export interface ParsedSettings {
  readonly settings: Settings;
  /** What it says that cannot be followed, in sentences without a full stop. The schema forbids it; an older one may not have. */
  readonly problems: readonly string[];
}

/** Reads `spec` of a MachineConfigGuard. Each field that cannot be followed counts as absent: the default protects. */
export function parseSettings(object: unknown): ParsedSettings {
  const { mode, holdSuperseded } = specOf(object);
  const problems: string[] = [];
  const known = MODES.find((one) => one === mode);
  if (known === undefined && mode !== undefined) {
    problems.push(`spec.mode ${shown(mode)} is none of ${MODES.join(', ')}; ${DEFAULT_SETTINGS.mode} holds`);
  }
  const holdMs = typeof holdSuperseded === 'string' ? parseDuration(holdSuperseded) : undefined;
  const holds = holdMs !== undefined && holdMs <= HOLD_MAX_MS;
  if (!holds && holdSuperseded !== undefined) {
    problems.push(`spec.holdSuperseded ${shown(holdSuperseded)} is no duration up to 720h; nothing is held`);
  }
  return {
    settings: {
      mode: known ?? DEFAULT_SETTINGS.mode,
      holdSupersededMs: holds ? holdMs : DEFAULT_SETTINGS.holdSupersededMs,
    },
    problems,
  };
}

function specOf(object: unknown): { readonly mode?: unknown; readonly holdSuperseded?: unknown } {
  const { spec } = (typeof object === 'object' && object !== null ? object : {}) as { spec?: unknown };
  return typeof spec === 'object' && spec !== null ? spec : {};
}

function shown(value: unknown): string {
  return toPrintableLine(JSON.stringify(value), 60);
}
