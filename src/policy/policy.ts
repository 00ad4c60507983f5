/** What a refusal means: Enforce refuses, Warn allows and warns the client, Audit allows and records, Disabled looks at nothing. */
export type Mode = (typeof MODES)[number];

/** Every mode, the strictest first. */
export const MODES = ['Enforce', 'Warn', 'Audit', 'Disabled'] as const;

/** How the guard is to decide, as set for this cluster. */
export interface Policy {
  readonly mode: Mode;
  /** For how long a superseded config is held although nothing names it, in milliseconds; 0 switches the hold off. */
  readonly holdSupersededMs: number;
}

/** What holds where nobody has said anything else: protect, and hold nothing beyond what is in use. */
export const DEFAULT_POLICY: Policy = { mode: 'Enforce', holdSupersededMs: 0 };

/** The annotation on a MachineConfig that allows its deletion. Its value is the reason and must not be empty. */
export const ALLOW_DELETION = 'machineconfig-guard.io/allow-deletion';
