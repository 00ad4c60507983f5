import { toPrintableLine } from '../common/printable-text.ts';
import { isRecord } from '../rendered-config/rendered-config.ts';
import { findDataUrlFault, getIdentity, listIgnitionChecks } from './ignition.ts';
import { MACHINE_CONFIG } from './kinds.ts';
import type { ManifestObject, ManifestSet } from './manifest-set.ts';
import { listChecks, type ValueCheck } from './overlay.ts';
import { getIgnitionVersion } from './rules/operator-rules.ts';
import { type Finding, formatRange } from './rules/rule.ts';
import type { ValueCode } from './rules/value-rules.ts';
import { getValue, validateValue, type ValueProblem } from './validate.ts';

export interface ValueFinding extends Finding {
  readonly code: ValueCode;
}

interface FoundProblem extends ValueProblem {
  /** The releases that have the problem. Undefined for all. */
  readonly releases?: readonly string[];
}

const MAX_KEY_LENGTH = 63;
const MAX_VALUE_LENGTH = 60;
const IGNITION = ['spec', 'config'];
/** Only read in a config that a pool selects. */
const CONTENTS = /^spec\.(?:config\.|(?:kernelType|extensions)\b)/;
/** Their values are secret, or long. */
const SECRET = /^(?:source|contents|advertisement)$|password|secret|token/i;

/** Finds what is wrong with the fields of an object: what its schemas say in the releases, and what only Go checks. */
export function findValueFindings(object: ManifestObject, set: ManifestSet): readonly ValueFinding[] {
  const checked = runChecks(object.value, [], listChecks(object));
  const problems = [...checked, ...findSchemaProblems(object, set), ...findIgnitionProblems(object, set)];
  const texts = new Set<string>();
  return problems.flatMap((problem) => {
    const path = problem.path.join('.');
    // The first text about a value is the clearest one. Everybody may use fields that begin with x-.
    if (problem.type === 'unknown' ? problem.path.at(-1)?.startsWith('x-') : texts.has(path)) return [];
    texts.add(path);
    const finding = {
      code: findCode(object, problem),
      detail: describe(object, problem),
      line: findLine(object, problem),
    };
    return [finding];
  });
}

/** The same problem in several releases is one. */
function findSchemaProblems(object: ManifestObject, set: ManifestSet): FoundProblem[] {
  const versions = set.findVersions(object);
  const found = new Map<string, FoundProblem & { releases: string[] }>();
  for (const { schema, isGo = false, releases } of versions) {
    for (const problem of validateValue(object.value, schema, { isGo }).problems) {
      const key = JSON.stringify([problem.type, problem.path, problem.type === 'unknown' ? '' : problem.must]);
      const known = found.get(key);
      if (known === undefined) found.set(key, { ...problem, releases: [...releases] });
      else known.releases.push(...releases);
    }
  }
  const served = new Set(versions.flatMap(({ releases }) => releases));
  return [...found.values()].flatMap(({ releases, ...problem }) => {
    const isEverywhere = new Set(releases).size === served.size;
    // A field that a release knows is right.
    if (problem.type === 'unknown' && !isEverywhere) return [];
    return [
      {
        ...problem,
        ...(!isEverywhere && { releases: set.catalog.releases.filter((each) => releases.includes(each)) }),
      },
    ];
  });
}

function findIgnitionProblems({ type, spec }: ManifestObject, { catalog }: ManifestSet): FoundProblem[] {
  const { config } = spec;
  if (type !== MACHINE_CONFIG || !isRecord(config)) return [];
  const text = getIgnitionVersion(spec);
  const version = /^\d/.test(text) ? text : '3.4.0';
  const known = catalog.find(version.startsWith('2.') ? 'ignition/2' : `ignition/${version.slice(0, 3)}`, 'Config')[0];
  const schema = known?.schema ?? catalog.find('ignition/3.4', 'Config')[0]?.schema ?? {};
  const { prepared, problems } = validateValue(config, schema, { isGo: true, ignoresCase: true });
  const duplicates = version.startsWith('2.') ? [] : findDuplicates(prepared, [], new Set());
  const checked = runChecks(prepared, [], listIgnitionChecks(version)).map(addCause);
  return [...problems, ...checked, ...duplicates].map((problem) => ({
    ...problem,
    path: [...IGNITION, ...problem.path],
  }));
}

function addCause(problem: ValueProblem): ValueProblem {
  const { path, value, must } = problem;
  if (path.at(-1) !== 'source' || !must.includes('decodes')) return problem;
  return { ...problem, must: `${must} (${findDataUrlFault(String(value))})` };
}

function runChecks(root: unknown, start: readonly string[], checks: readonly ValueCheck[]): ValueProblem[] {
  return checks.flatMap(({ at, must, test, ofKeys = false }) => {
    const found = at === '' ? [{ path: start, value: root }] : pickValues(root, start, at.split('.'));
    return found.flatMap(({ path, value }): ValueProblem[] => {
      if (value === undefined || value === null) return [];
      if (ofKeys) {
        const keys = isRecord(value) ? Object.keys(value) : [];
        const wrong = keys.filter((key) => !passes(test, key));
        return wrong.map((key) => ({ type: 'value', path: [...path, key], must, value: key }));
      }
      return passes(test, value) ? [] : [{ type: 'value', path, must, value }];
    });
  });
}

/** Another type than a text has another problem. */
function passes(test: ValueCheck['test'], value: unknown): boolean {
  if (typeof test === 'function') return test(value);
  return typeof value !== 'string' || test.test(value);
}

interface PickedValue {
  readonly path: readonly string[];
  readonly value: unknown;
}

function pickValues(value: unknown, path: readonly string[], [key, ...rest]: readonly string[]): PickedValue[] {
  if (key === undefined) return [{ path, value }];
  if (typeof value !== 'object' || value === null) return [];
  const keys = key === '*' ? Object.keys(value) : [key];
  return keys.flatMap((each) => pickValues(getValue(value, [each]), [...path, each], rest));
}

/** Items of lists that Ignition 3 accepts only once. A path can be only one of a file, a directory or a link. */
function findDuplicates(value: unknown, path: readonly string[], paths: Set<string>): ValueProblem[] {
  if (typeof value !== 'object' || value === null) return [];
  const name = path.filter((key) => !/^\d+$/.test(key)).join('.');
  const seen = /^storage\.(?:files|directories|links)$/.test(name) ? paths : new Set<string>();
  return Object.entries(value).flatMap(([key, item]) => {
    const inner = findDuplicates(item, [...path, key], paths);
    const identity = Array.isArray(value) ? getIdentity(name, item) : undefined;
    const isDuplicate = identity !== undefined && seen.has(identity);
    if (identity !== undefined) seen.add(identity);
    return isDuplicate
      ? [...inner, { type: 'duplicate' as const, path: [...path, key], must: '', value: item }]
      : inner;
  });
}

function findCode({ type }: ManifestObject, problem: FoundProblem): ValueCode {
  const path = problem.path.join('.');
  if (problem.type === 'unknown') return 'UnknownField';
  if (problem.releases !== undefined) return 'ValueOfRelease';
  if (problem.type === 'duplicate') return 'DuplicateEntry';
  if (type === MACHINE_CONFIG && CONTENTS.test(path)) return 'InvalidContents';
  if (problem.must === 'be a text' && ['number', 'boolean'].includes(typeof problem.value)) return 'NotAString';
  if (problem.path[0] === 'metadata' && typeof problem.value === 'string') return 'InvalidName';
  return 'InvalidValue';
}

function describe({ type }: ManifestObject, problem: FoundProblem): string {
  const { path, must, value, releases } = problem;
  const name = formatPath(path);
  const isText = typeof value === 'string';
  const isSecret = isText && (type === ' Secret' || SECRET.test(path.at(-1) ?? ''));
  const isShown = (isText || typeof value === 'number' || typeof value === 'boolean') && !isSecret;
  const shown = isShown ? toPrintableLine(JSON.stringify(value), MAX_VALUE_LENGTH) : '';
  if (problem.type === 'unknown') return name;
  if (problem.type === 'duplicate') return shown === '' ? name : `${name} (${shown})`;
  const text =
    problem.type === 'rule'
      ? `${name}${shown && ` (${shown})`}: ${must}`
      : `${name} must ${must}${shown && `, not ${shown}`}`;
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
