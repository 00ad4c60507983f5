/** Messages, audit annotations, logs and metrics contain these codes. */
export const CODE_DESCRIPTIONS = {
  MCG_IN_USE: 'Denied: a node, a pool or an unfinished build references the config.',
  MCG_HELD:
    'Denied: a machine may be booting with the config, because its pool may have named it within spec.holdSuperseded.',
  MCG_UNVERIFIED: 'Denied: the guard could not list all references in time, or the config does not exist.',
  MCG_UNKNOWN_CONFIG: 'Denied: a node or a pool would name a text that no rendered MachineConfig can have.',
  MCG_NOT_IN_USE: 'Allowed: no node, pool or unfinished build references the config.',
  MCG_NOT_RENDERED: 'Allowed without a check: the request is not the deletion of a rendered MachineConfig.',
  MCG_OVERRIDDEN: 'Allowed: the config has the allow-deletion annotation with a reason.',
  MCG_WOULD_DENY: 'Allowed by mode Warn or Audit. Mode Enforce would deny it.',
  MCG_DISABLED: 'Allowed: the mode is Disabled.',
  MCG_BAD_REVIEW: 'Denied: the request is not a valid AdmissionReview.',
} as const;

export type Code = keyof typeof CODE_DESCRIPTIONS;

export const DOCS_BASE = 'https://github.com/machineconfig-guard/machineconfig-guard/blob/main/docs';
