import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { countNoun } from '../../../common/printable-text.ts';
import { FileError, formatPath } from '../../../files/file-error.ts';
import { type Advice, advise } from '../../../client/output/advice.ts';
import { explainFileErrors, prepareEmptyDirectory } from '../../../client/output-directory.ts';
import { formatTable } from '../../../client/output/table.ts';
import { applyStyle, getLineWidth, type TableFormat, wrapBeside } from '../../../client/output/text-format.ts';
import { findProblems, type ManifestProblem, MAX_NODES } from './find-problems.ts';
import { parseManifest, splitManifest } from './parse-manifest.ts';
import { readManifests } from './read-manifests.ts';

const COLUMNS = ['FILE', 'LINE', 'OBJECT', 'PROBLEM', 'SEVERITY'].map((header) => ({ header }));
const MAX_WARNINGS = 3;

/** The JSON of `check --manifests DIR --output json`. Its keys are a contract. */
interface ManifestsReport {
  readonly directory: string;
  /** Whether all problems are warnings. */
  readonly ok: boolean;
  readonly problems: readonly ManifestProblem[];
}

/**
 * Checks the manifests of an installer's directory, or writes them into `split` and checks those.
 *
 * @throws FileError, CliError, or the signal's reason
 */
export async function checkManifests(
  directory: string,
  { split, format, signal }: { split: string | undefined; format: TableFormat; signal: AbortSignal },
) {
  if (split !== undefined) await splitManifests(directory, split, signal);
  const report = await createReport(split ?? directory, signal);
  const files = new Set(report.problems.map(({ file }) => `${path.join(report.directory, file)}\n`));
  return { report, table: formatReport(format, report), names: [...files].join('') };
}

/** The first problems of a directory into which a command has written manifests, and how to see all. */
export async function listManifestWarnings(directory: string): Promise<readonly (string | Advice)[]> {
  const { problems } = await createReport(directory, new AbortController().signal);
  const warnings = problems.map(({ file, line, code, message }) => `${file}:${line}: ${code}: ${message}`);
  const seeAll = advise('see all problems with', ['machineconfig-guard', 'check', '--manifests', directory]);
  return warnings.length === 0 ? [] : [...warnings.slice(0, MAX_WARNINGS), seeAll];
}

async function createReport(directory: string, signal: AbortSignal): Promise<ManifestsReport> {
  const { fileCount, problems } = await findProblems(readManifests(directory, signal));
  if (fileCount > 0) return { directory, ok: problems.every(({ severity }) => severity === 'warning'), problems };
  throw new FileError(`${formatPath(directory)} contains no manifests; choose the directory of an installer`);
}

/** Gives each document a file of its own. A file with one document, or that does not parse, stays as it is. */
async function splitManifests(directory: string, out: string, signal: AbortSignal): Promise<void> {
  const contents = new Map<string, string | Buffer>();
  const budget = { nodesLeft: MAX_NODES };
  for await (const { path: file, content } of readManifests(directory, signal)) {
    if (content === undefined) continue;
    const texts = splitManifest(parseManifest(content, formatPath(file), budget).documents);
    const { dir, name, ext } = path.parse(path.join(out, file));
    for (const [index, text] of (texts.length === 0 ? [content] : texts).entries()) {
      const suffix = texts.length < 2 ? '' : `-${String(index + 1).padStart(2, '0')}`;
      const target = path.join(dir, `${name}${suffix}${ext}`);
      if (contents.has(target)) throw new FileError(`two files would be ${formatPath(target)}; rename one`);
      contents.set(target, text);
    }
  }
  await prepareEmptyDirectory(out);
  await explainFileErrors(out, async () => {
    for (const [target, content] of contents) {
      await mkdir(path.dirname(target), { recursive: true });
      // Manifests can contain secrets.
      await writeFile(target, content, { mode: 0o600, flag: 'wx' });
    }
  });
}

function formatReport(format: TableFormat, { directory, ok, problems }: ManifestsReport): string {
  const rows = problems.map(({ file, line, kind, name, code, severity }) => [
    { text: file },
    { text: String(line) },
    { text: [kind, name].filter(Boolean).join(' ') || '<none>' },
    { text: code },
    { text: severity, style: severity === 'error' ? ('red' as const) : undefined },
  ]);
  const items = problems.map(({ code, message, advice }) =>
    wrapBeside(`- ${code}: `, `${message}; ${advice}.`, getLineWidth(format)),
  );
  const table =
    problems.length === 0 ? '' : `${formatTable(format, COLUMNS, rows)}\n${[...new Set(items)].join('\n')}\n\n`;
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const counts = `${countNoun(errors, 'error')} and ${countNoun(problems.length - errors, 'warning')}`;
  const conclusion = `${ok ? 'Fine' : 'Not fine'}: ${counts} in ${formatPath(directory)}.`;
  return `${table}${applyStyle(format, ok ? 'bold' : ['red', 'bold'], conclusion)}\n`;
}
