import { parseDuration } from './duration.ts';
import { oneLine } from './line.ts';
import { DEFAULT_POLICY, MODES, type Policy } from './policy.ts';

/** The longest hold that is taken for meant, as the schema of MachineConfigGuard has it: 30 days. */
const HOLD_MAX_MS = 30 * 86_400_000;

/** What a MachineConfigGuard says. */
export interface Settings {
  readonly policy: Policy;
  /** What it says that cannot be followed, in sentences without a full stop. The schema forbids it; an older one may not have. */
  readonly problems: readonly string[];
}

/** Reads `spec` of a MachineConfigGuard. Each field that cannot be followed counts as absent: the default protects. */
export function readSettings(object: unknown): Settings {
  const { mode, holdSuperseded } = specOf(object);
  const problems: string[] = [];
  const known = MODES.find((one) => one === mode);
  if (known === undefined && mode !== undefined) {
    problems.push(`spec.mode ${shown(mode)} is none of ${MODES.join(', ')}; ${DEFAULT_POLICY.mode} holds`);
  }
  const holdMs = typeof holdSuperseded === 'string' ? parseDuration(holdSuperseded) : undefined;
  const holds = holdMs !== undefined && holdMs <= HOLD_MAX_MS;
  if (!holds && holdSuperseded !== undefined) {
    problems.push(`spec.holdSuperseded ${shown(holdSuperseded)} is no duration up to 720h; nothing is held`);
  }
  return {
    policy: {
      mode: known ?? DEFAULT_POLICY.mode,
      holdSupersededMs: holds ? holdMs : DEFAULT_POLICY.holdSupersededMs,
    },
    problems,
  };
}

function specOf(object: unknown): { readonly mode?: unknown; readonly holdSuperseded?: unknown } {
  const { spec } = (typeof object === 'object' && object !== null ? object : {}) as { spec?: unknown };
  return typeof spec === 'object' && spec !== null ? spec : {};
}

function shown(value: unknown): string {
  return oneLine(JSON.stringify(value), 60);
}
