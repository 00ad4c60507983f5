import { toPrintableLine } from '../common/printable-text.ts';
import { getValue, isRecord } from '../rendered-config/rendered-config.ts';
import { MACHINE_CONFIG, type ManifestObject, type ManifestSet } from './manifest-set.ts';
import { type Finding, formatRange } from './rules/rule.ts';
import type { ValueCode } from './rules/value-rules.ts';
import type { KindVersion } from './schemas.ts';
import { validateValue, type ValueProblem } from './validate.ts';

export interface ValueFinding extends Finding {
  readonly code: ValueCode;
}

interface FoundProblem extends ValueProblem {
  /** The releases that have the problem. Undefined for all. */
  readonly releases?: readonly string[];
}

const MAX_KEY_LENGTH = 63;
const MAX_VALUE_LENGTH = 60;
/** Only decoded in a config that a pool selects. */
const IGNITION_FIELD = /^spec\.config\./;
/** Their types are decoded in every config, and their values only judged in a config that a pool selects. */
const JUDGED_FIELD = /^spec\.(?:kernelType|extensions)\b/;
/** Their values are secret, or long. */
const SECRET = /^(?:source|contents|advertisement)$|password|secret|token/i;

/** Finds what is wrong with the fields of an object, in the order of their lines. */
export function findValueFindings(object: ManifestObject, set: ManifestSet): readonly ValueFinding[] {
  const { type, value, spec } = object;
  const served = set.findVersions(object);
  const versions = served.length > 0 ? served : set.catalog.find('internal/any', 'Object');
  const own = findProblems(value, versions, set);
  const hasUnknown = own.some((problem) => problem.type === 'unknown');
  const unread = (hasUnknown ? set.findKinds(object) : []).map(({ schema, isGo = false }) => {
    const found = validateValue(value, schema, { isGo }).filter((problem) => problem.type === 'unknown');
    return new Set(found.map(({ path }) => path.join()));
  });
  const problems = [...own];
  const { config } = spec;
  if (type === MACHINE_CONFIG && isRecord(config)) {
    const version = String(getValue(config, 'ignition', 'version'));
    const names = [version.startsWith('2.') ? '2' : version.slice(0, 3), '3.4'];
    const kinds = names.map((name) => set.findVersions({ apiVersion: `internal/ignition/${name}`, kind: 'Config' }));
    const contents = findProblems(config, kinds.find(({ length }) => length > 0) ?? [], set);
    problems.push(...contents.map((problem) => ({ ...problem, path: ['spec', 'config', ...problem.path] })));
  }
  const findings = problems.map((problem) => {
    const isRead = own.includes(problem) && unread.some((paths) => !paths.has(problem.path.join()));
    const line = findLine(object, problem);
    return { code: findCode(object, problem), detail: describe(object, problem, isRead), line };
  });
  return findings.toSorted((a, b) => a.line - b.line);
}

/** A value that is wrong in several releases is one problem. Its first text is the clearest one. */
function findProblems(
  value: unknown,
  versions: readonly KindVersion[],
  { catalog }: ManifestSet,
): readonly FoundProblem[] {
  const found = new Map<string, FoundProblem>();
  for (const { schema, isGo = false, releases } of versions) {
    for (const problem of validateValue(value, schema, { isGo })) {
      const { path, type, code, must } = problem;
      // Everybody may use fields that begin with x-.
      if (type === 'unknown' && path.at(-1)?.startsWith('x-')) continue;
      // A rule that only an API server can apply hides no other.
      const key = JSON.stringify([type === 'unknown' || (type === 'unjudged' ? must : code), path]);
      const known = found.get(key);
      found.set(key, { ...(known ?? problem), releases: [...(known?.releases ?? []), ...releases] });
    }
  }
  const served = catalog.releases.filter((release) => versions.some(({ releases }) => releases.includes(release)));
  return [...found.values()].flatMap(({ releases = [], ...problem }) => {
    const affected = served.filter((release) => releases.includes(release));
    if (affected.length === served.length) return [problem];
    // A field that a release knows is right.
    return problem.type === 'unknown' ? [] : [{ ...problem, releases: affected }];
  });
}

function findCode({ type }: ManifestObject, problem: FoundProblem): ValueCode {
  const path = problem.path.join('.');
  if (problem.type === 'unknown') return 'UnknownField';
  if (problem.code !== undefined) return problem.code;
  if (problem.type === 'unjudged') return 'UnknownRule';
  if (problem.releases !== undefined) return 'ValueOfRelease';
  if (problem.type === 'duplicate') return 'DuplicateEntry';
  const isContents = IGNITION_FIELD.test(path) || (JUDGED_FIELD.test(path) && problem.type !== 'type');
  if (type === MACHINE_CONFIG && isContents) return 'InvalidContents';
  if (problem.must === 'be a text' && ['number', 'boolean'].includes(typeof problem.value)) return 'NotAString';
  return 'InvalidValue';
}

/** @param isRead whether another release or feature set has an unknown field */
function describe({ type }: ManifestObject, problem: FoundProblem, isRead: boolean): string {
  const { path, must, value, releases } = problem;
  const name = formatPath(path);
  const isText = typeof value === 'string';
  const isSecret = isText && (type === ' Secret' || SECRET.test(path.at(-1) ?? ''));
  const isShown = (isText || typeof value === 'number' || typeof value === 'boolean') && !isSecret;
  const shown = isShown ? toPrintableLine(JSON.stringify(value), MAX_VALUE_LENGTH) : '';
  if (problem.type === 'unknown')
    return `${isRead ? 'only another release or feature set' : 'nothing'} reads the field ${name}`;
  if (problem.type === 'duplicate') return shown === '' ? name : `${name} (${shown})`;
  const text =
    problem.type === 'rule' || problem.type === 'unjudged'
      ? `${name}${shown && ` (${shown})`}: ${must}`
      : `${name}${shown && ` is ${shown}, and`} must ${must}`;
  return releases === undefined ? text : `OpenShift ${formatRange(releases)}: ${text}`;
}

function formatPath(path: readonly string[]): string {
  const parts = path.map((key) => (/^\d+$/.test(key) ? `[${key}]` : `.${toPrintableLine(key, MAX_KEY_LENGTH)}`));
  return parts.join('').replace(/^\./, '') || 'the object';
}

/** The line of the value, or else that of what contains it. Ignition ignores the case of its keys. */
function findLine({ value, document }: ManifestObject, { path }: ValueProblem): number {
  let { line } = document;
  let collection: unknown = value;
  for (const key of path) {
    if (typeof collection !== 'object' || collection === null) break;
    const keys = Object.keys(collection);
    const found = keys.find((each) => each === key) ?? keys.find((each) => each.toLowerCase() === key.toLowerCase());
    if (found === undefined) break;
    line = document.findLine(collection, found);
    collection = (collection as Readonly<Record<string, unknown>>)[found];
  }
  return line;
}
