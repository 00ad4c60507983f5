/**
 * Every answer of the guard carries one of these codes in the message, the audit annotation, the log and the metrics.
 * docs/codes.md has a section for each, and a test compares both.
 */
export const CODES = {
  MCG_IN_USE: 'Refused: a node, a pool or an unfinished build still names the config.',
  MCG_HELD: 'Refused: the config was superseded less than spec.holdSuperseded ago; a machine may be booting with it.',
  MCG_UNVERIFIED: 'Refused: whether something uses the config could not be found out in time.',
  MCG_NOT_IN_USE: 'Allowed: nothing names the config.',
  MCG_OVERRIDDEN: 'Allowed: the config carries the allow-deletion annotation with a reason.',
  MCG_WOULD_DENY: 'Allowed because of mode Warn or Audit; mode Enforce would refuse it.',
  MCG_DISABLED: 'Allowed: the guard is switched off by mode Disabled.',
  MCG_BAD_REVIEW: 'Refused: the request is not an admission review that the guard can read.',
} as const;

/** The stable identifier of an answer. */
export type Code = keyof typeof CODES;

const DOCS_BASE = 'https://github.com/machineconfig-guard/machineconfig-guard/blob/main/docs';

/** The address of the page that explains a code. */
export function docsLink(code: Code): string {
  return `${DOCS_BASE}/codes.md#${code.toLowerCase()}`;
}
