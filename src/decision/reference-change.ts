import type { Code } from './codes.ts';
import type { ConfigName } from './config-name.ts';
import { formatDenial, formatName, formatWarning } from './message.ts';
import { toPrintableLine } from './printable-text.ts';
import { type NamedReference, REFERRER_NOUNS } from './references.ts';
import type { ReferenceReview } from './review.ts';
import type { Mode } from './settings.ts';
import type { Verdict } from './verdict.ts';

/** Whether a config exists. */
export type ConfigExistence =
  | { readonly state: 'exists' }
  /** The nearest existing name is undefined if no name is near. */
  | { readonly state: 'missing'; readonly nearest: ConfigName | undefined }
  | { readonly state: 'unknown'; readonly reason: string };

/**
 * Decides an update of a node or a pool. Only a config that surely does not exist denies it, because a fault of the
 * guard must not make an update of a node fail.
 *
 * @param existences of the referenced configs
 */
export function decideReferenceChange(
  { references }: ReferenceReview,
  existences: ReadonlyMap<ConfigName, ConfigExistence>,
  mode: Mode,
): Verdict {
  if (mode === 'Disabled') return allow('MCG_DISABLED', references, 'the guard is disabled');
  const missing = [...existences].flatMap(([config, existence]) =>
    existence.state === 'missing' ? [{ config, nearest: existence.nearest }] : [],
  );
  if (missing.length > 0) return denyMissing(missing, references, mode);
  for (const [config, existence] of existences) {
    if (existence.state !== 'unknown') continue;
    const problem = `could not check whether MachineConfig "${formatName(config)}" exists`;
    const reason = `${problem}: ${toPrintableLine(existence.reason, 160)}`;
    const warnings = mode === 'Audit' ? [] : [formatWarning(`MCG_UNCHECKED: ${problem}`)];
    return { ...allow('MCG_UNCHECKED', references, reason), warnings };
  }
  return allow(
    'MCG_KNOWN_CONFIG',
    references,
    references.length === 0 ? 'no reference to a MachineConfig changes' : 'the referenced MachineConfigs exist',
  );
}

/** The verdict if the guard cannot read the review, or is overloaded. */
export function allowUnchecked(problem: string): Verdict {
  const message = `could not check the update: ${toPrintableLine(problem, 300)}`;
  return { ...allow('MCG_UNCHECKED', [], message), warnings: [formatWarning(`MCG_UNCHECKED: ${message}`)] };
}

function denyMissing(
  missing: readonly { readonly config: ConfigName; readonly nearest: ConfigName | undefined }[],
  allReferences: readonly NamedReference[],
  mode: Mode,
): Verdict {
  const findings = missing.map(({ config, nearest }) => ({
    name: `"${formatName(config)}"`,
    references: allReferences.filter((reference) => reference.config === config),
    suggestion: nearest === undefined ? '' : `Did you mean ${nearest}?`,
  }));
  const message = formatDenial('MCG_UNKNOWN_CONFIG', [
    ...findings.flatMap(({ name, references, suggestion }) => [
      `no MachineConfig is named ${name}, which ${formatReferrer(references)} would reference.`,
      suggestion,
    ]),
    'Correct the name, or create the MachineConfig first.',
  ]);
  const references = findings.flatMap((finding) => finding.references);
  const denial = { config: missing[0]?.config, references, referencesTotal: references.length };
  if (mode === 'Enforce') {
    const denialStatus = { code: 403, reason: 'Forbidden' } as const;
    return { ...denial, outcome: 'denied', code: 'MCG_UNKNOWN_CONFIG', message, denialStatus, warnings: [] };
  }
  const warnings = findings.flatMap(({ name, suggestion }) => [
    `MCG_WOULD_DENY (MCG_UNKNOWN_CONFIG): no MachineConfig is named ${name}`,
    suggestion,
  ]);
  return {
    ...denial,
    outcome: 'would-deny',
    code: 'MCG_WOULD_DENY',
    cause: 'MCG_UNKNOWN_CONFIG',
    message: `MCG_WOULD_DENY: mode ${mode} allows this update; mode Enforce would deny it. ${message}`,
    warnings: mode === 'Warn' ? warnings.filter(Boolean).map(formatWarning) : [],
  };
}

function allow(code: Code, references: readonly NamedReference[], reason: string): Verdict {
  return {
    outcome: 'allowed',
    code,
    config: references[0]?.config,
    message: `${code}: ${reason}`,
    references,
    referencesTotal: references.length,
    warnings: [],
  };
}

/** `node worker-0 (currentConfig, desiredConfig)`. All references are those of one object. */
function formatReferrer(references: readonly NamedReference[]): string {
  const [first] = references;
  if (first === undefined) return 'the object';
  const fields = references.map(({ field }) => field).join(', ');
  return `${REFERRER_NOUNS[first.kind]} ${formatName(first.name)} (${fields})`;
}
