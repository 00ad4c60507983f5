import type { Manifest, ManifestObject, ManifestSet } from '../manifest-set.ts';

export type Severity = 'error' | 'warning';

/** A detail for the message, and its object and its line if not those of the subject. */
export interface Finding {
  readonly detail: string;
  readonly line?: number | undefined;
  readonly object?: ManifestObject | undefined;
}

/** Whether a rule applies, a detail for its message, or several with their lines. */
export type Findings = boolean | string | undefined | readonly Finding[];

export interface Message {
  /** What is wrong and what follows, with the detail of a finding. */
  readonly message: string | ((detail: string, severity: Severity) => string);
  readonly advice: string;
  /** Whether the install works, but without something that the manifests contain. */
  readonly isLoss?: boolean;
}

/** The parts that rules about texts, objects and values of fields share. */
export interface Rule<Subject = ManifestObject> extends Message {
  readonly severity: Severity | ((object: Subject, set: ManifestSet) => Severity);
}

/** A rule about the text of a manifest. */
export interface TextRule extends Rule<ManifestObject | undefined> {
  readonly find: (manifest: Manifest, set: ManifestSet) => Findings;
}

/** A rule about an object. docs/internals/decisions/0012-check-manifests.md has the evidence. */
export interface ObjectRule extends Rule {
  /** As `group Kind`. Undefined for all. */
  readonly kinds?: readonly string[];
  readonly find: (object: ManifestObject, set: ManifestSet) => Findings;
  /** Whether the rules after it would only report what follows from it. */
  readonly isFinal?: boolean;
}

/** `4.18`, or `4.18 to 5.0`, of sorted releases. */
export function formatRange(releases: readonly string[]): string {
  const [first = ''] = releases;
  const last = releases.at(-1) ?? first;
  return first === last ? first : `${first} to ${last}`;
}

/** Only in a MachineConfig that a pool selects is it an error: the operator reads the contents of no other one. */
export function ifSelected({ labels }: ManifestObject, { findPools }: ManifestSet): Severity {
  return findPools(labels).length > 0 ? 'error' : 'warning';
}

/** What follows from a finding of a rule with {@link ifSelected}. */
export function whenSelected(consequence: string, severity: Severity): string {
  return severity === 'error' ? consequence : `${consequence} if a pool selects it`;
}
