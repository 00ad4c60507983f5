import { toPrintableLine } from '../common/printable-text.ts';
import { FileError, formatPath } from '../files/file-error.ts';
import { findValueFindings } from './check-values.ts';
import { type Manifest, type ManifestObject, ManifestSet } from './manifest-set.ts';
import { findNestedManifests } from './nested-manifests.ts';
import type { ManifestInput } from './read-manifests.ts';
import { OBJECT_RULES } from './rules/object-rules.ts';
import { OPERATOR_RULES } from './rules/operator-rules.ts';
import type { Finding, Findings, ObjectRule, Severity, TextRule } from './rules/rule.ts';
import { type Code, RULES } from './rules/rules.ts';
import { TEXT_RULES } from './rules/text-rules.ts';

/** Part of the JSON of `check manifests`. Its keys are a contract. */
export interface ManifestProblem {
  /** An error lets an install fail, or the cluster render other configs than the bootstrap host. */
  readonly severity: Severity;
  readonly code: Code;
  readonly file: string;
  readonly line: number;
  readonly kind: string | null;
  readonly name: string | null;
  /** What is wrong and what follows. */
  readonly message: string;
  readonly advice: string;
}

interface Subject {
  readonly file: string;
  readonly line?: number | undefined;
  readonly object?: ManifestObject | undefined;
}

const MAX_PROBLEMS = 10_000;
const MAX_DETAIL_LENGTH = 1_000;

/**
 * Finds what lets an install fail, or lets the cluster render other configs than the bootstrap host, and what has no
 * effect. Errors come first.
 * @param release major and minor, such as `4.20`. Undefined if it is unknown.
 * @throws FileError if there is too much
 */
export function findProblems(input: ManifestInput, release?: string) {
  const problems: ManifestProblem[] = [];
  const direct = new ManifestSet(input, release);
  const nested = findNestedManifests(input, direct);
  const set = nested === undefined ? direct : new ManifestSet(nested, release);
  const add: Add = (code, findings, { file, ...subject }) => {
    const found = toList(findings);
    const { severity = 'warning' } = RULES[code] as Partial<TextRule>;
    for (const { detail, object = subject.object, line = object?.document.line ?? subject.line } of found) {
      const level = typeof severity === 'string' ? severity : severity(object, set);
      problems.push(createProblem(code, level, detail, { file, line, object }));
      if (problems.length > MAX_PROBLEMS)
        throw new FileError(`${file} and the files before it have more than ${MAX_PROBLEMS} problems`);
    }
    return found.length > 0;
  };
  for (const { path, ignored } of [...input.files, ...(nested?.files ?? [])]) {
    if (ignored !== undefined && ignored !== 'Patch') add(ignored, true, { file: formatPath(path) });
  }
  for (const manifest of set.manifests) {
    checkText(manifest, set, add);
    for (const object of manifest.objects) checkObject(object, set, add);
  }
  const isError = ({ severity }: ManifestProblem): number => Number(severity === 'error');
  return { set, problems: problems.toSorted((a, b) => isError(b) - isError(a)) };
}

/** Adds a problem for each finding of a rule. Returns whether there are findings. */
type Add = (code: Code, findings: Findings, subject: Subject) => boolean;

function checkText(manifest: Manifest, set: ManifestSet, add: Add): void {
  for (const [code, rule] of entriesOf<keyof typeof TEXT_RULES, TextRule>(TEXT_RULES)) {
    add(code, rule.find(manifest, set), { file: manifest.file, line: manifest.documents[0]?.line });
  }
}

/** Returns after a rule that makes the others pointless. */
function checkObject(object: ManifestObject, set: ManifestSet, add: Add): void {
  const subject = { file: object.manifest.file, object };
  const apply = (code: Code, { kinds, find }: ObjectRule): boolean =>
    kinds?.includes(object.type) !== false && add(code, find(object, set), subject);
  for (const [code, rule] of entriesOf<keyof typeof OBJECT_RULES, ObjectRule>(OBJECT_RULES)) {
    if (apply(code, rule) && rule.isFinal) return;
  }
  for (const finding of findValueFindings(object, set)) add(finding.code, [finding], subject);
  for (const [code, rule] of entriesOf<keyof typeof OPERATOR_RULES, ObjectRule>(OPERATOR_RULES)) apply(code, rule);
}

/** The entries of a record of rules, with the types of both. */
function entriesOf<Key extends string, Value>(record: Readonly<Record<Key, Value>>): [Key, Value][] {
  return Object.entries(record) as [Key, Value][];
}

function toList(findings: Findings): readonly Finding[] {
  if (findings === undefined || typeof findings === 'boolean') return findings ? [{ detail: '' }] : [];
  return typeof findings === 'string' ? [{ detail: findings }] : findings;
}

/** @param detail untrusted */
export function createProblem(code: Code, severity: Severity, detail: string, subject: Subject): ManifestProblem {
  const { file, line = 1, object } = subject;
  const { message, advice } = RULES[code];
  const text = typeof message === 'string' ? message : message(toPrintableLine(detail, MAX_DETAIL_LENGTH), severity);
  return { severity, code, file, line, kind: object?.kind || null, name: object?.name || null, message: text, advice };
}
