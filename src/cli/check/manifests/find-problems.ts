import { toPrintableLine } from '../../../common/printable-text.ts';
import { FileError, formatPath } from '../../../files/file-error.ts';
import { findDifferentReading } from '../../../files/yaml-stream.ts';
import { findFieldProblems } from '../../../rendered-config/inputs/find-field-problems.ts';
import { changesRenders, FILE_FINDERS, FINAL_FINDERS, type Findings, OBJECT_FINDERS } from './finders.ts';
import { ManifestDirectory, type ManifestObject } from './manifest-directory.ts';
import type { ManifestFile } from './read-manifests.ts';
import { getRule } from './rules.ts';

/** Part of the JSON of `check --manifests`. Its keys are a contract. */
export type ManifestProblem = ReturnType<typeof createProblem>;

const MAX_PROBLEMS = 10_000;
const MAX_DETAIL_LENGTH = 1_000;
/** No supported release is older. */
const OLDEST_RELEASE = '4.14';

/**
 * Finds what lets an install fail, or lets the cluster render other configs than the bootstrap host. Errors come first.
 * @param files in the order in which cluster-bootstrap creates their objects: sorted by name
 */
export async function findProblems(files: AsyncIterable<ManifestFile> | Iterable<ManifestFile>, release?: string) {
  const problems: ManifestProblem[] = [];
  const directory = new ManifestDirectory();
  const add = (code: string, file: string, findings: Findings, object?: ManifestObject): boolean => {
    if (findings === undefined || findings === false) return false;
    const details = typeof findings === 'object' ? findings : [[findings] as const];
    for (const [detail, line = object?.document.line ?? 1] of details) {
      const { severity, releases } = getRule(code);
      const isConcerned = concernsRelease(releases, release);
      if (isConcerned === false) return false;
      const isHarmless =
        (severity === 'loss' && object !== undefined && !changesRenders(object, directory)) ||
        (severity === 'contents' && directory.findPools(object?.labels).length === 0);
      problems.push(createProblem(code, detail, file, line, object, isHarmless || isConcerned === undefined));
      if (problems.length > MAX_PROBLEMS) throw new FileError(`${file} and the files before it have too many problems`);
    }
    return true;
  };
  for await (const { path, content, ignored } of files) {
    if (ignored) add(ignored, formatPath(path), true);
    else if (content !== undefined) directory.add(path, content);
  }
  for (const manifest of directory.manifests) {
    const { file, objects } = manifest;
    for (const [code, find] of Object.entries(FILE_FINDERS)) add(code, file, find(manifest));
    const [, ...others] = objects;
    const lost = others.find((object) => changesRenders(object, directory)) ?? others[0];
    add('DifferentReading', file, findDifferentReading(manifest), objects[0]);
    add('MultipleDocuments', file, others.length > 0 && `${objects.length}`, lost);
    for (const object of objects) {
      const finals = Object.entries(FINAL_FINDERS);
      if (finals.some(([code, find]) => add(code, file, find(object, directory), object))) continue;
      for (const [code, kinds, find] of OBJECT_FINDERS) {
        if (kinds === '' || kinds.split(' ').includes(object.kind)) add(code, file, find(object, directory), object);
      }
      for (const { code, text, line } of findFieldProblems(object)) add(code, file, [[text, line]], object);
    }
  }
  const bySeverity = (one: ManifestProblem, other: ManifestProblem) => one.severity.localeCompare(other.severity);
  return { directory, problems: problems.toSorted(bySeverity) };
}

export function createProblem(
  code: string,
  detail: string | true,
  file: string,
  line = 1,
  object?: ManifestObject,
  isWarning = false,
) {
  const { severity, message, advice, releases } = getRule(code);
  const text = message.replace('%s', () => toPrintableLine(String(detail), MAX_DETAIL_LENGTH));
  return {
    severity: isWarning || severity === 'warning' ? ('warning' as const) : ('error' as const),
    code,
    file,
    line,
    kind: object?.kind || null,
    name: object?.name || null,
    message: releases === undefined ? text : `OpenShift ${releases}: ${text}`,
    advice,
  };
}

function isBefore(one: string, other: string): boolean {
  return one.localeCompare(other, 'en', { numeric: true }) < 0;
}

function concernsRelease(releases: string | undefined, release: string | undefined): boolean | undefined {
  const [word, limit = ''] = releases?.split(' ') ?? [];
  if (word === undefined) return true;
  if (release !== undefined) return isBefore(release, limit) === (word === 'before');
  return word === 'from' || isBefore(OLDEST_RELEASE, limit) ? undefined : false;
}
