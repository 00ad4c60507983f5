import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { countNoun } from '../../../common/printable-text.ts';
import { FileError, formatPath } from '../../../files/file-error.ts';
import { type Advice, advise } from '../../../client/output/advice.ts';
import { type Finding, findProblems, type ManifestFile, MAX_TOKENS } from './find-problems.ts';
import { parseManifest, splitManifest } from './parse-manifest.ts';
import { readManifests } from './read-manifests.ts';
import { CliError, EXIT_CODE } from '../../../client/exit.ts';
import { explainFileErrors, prepareEmptyDirectory } from '../../../client/output-directory.ts';
import { Output } from '../../../client/output/output.ts';
import { withStopSignal } from '../../../client/signals.ts';
import { formatTable } from '../../../client/output/table.ts';
import { applyStyle, getLineWidth, type TableFormat, wrapBeside } from '../../../client/output/text-format.ts';

const COLUMNS = ['FILE', 'LINE', 'OBJECT', 'PROBLEM', 'SEVERITY'].map((header) => ({ header }));
const MAX_WARNINGS = 3;

/** The JSON of `check --manifests DIR --output json`. Its keys are a contract. */
interface ManifestsReport {
  readonly directory: string;
  /** Whether all findings are warnings. */
  readonly ok: boolean;
  readonly findings: readonly Finding[];
}

/** Checks the manifests of an installer's directory, or writes them into `split` and checks those. */
export async function checkManifests(
  directory: string,
  { split, ...flags }: { readonly split?: string; readonly output: string },
  command: Command,
): Promise<void> {
  if (split !== undefined) await splitManifests(directory, split);
  const report = await createReport(split ?? directory);
  const files = new Set(report.findings.map(({ file }) => `${path.join(report.directory, file)}\n`));
  const output = new Output(command, flags);
  output.printReport(report, flags.output === 'name' ? [...files].join('') : formatReport(output.format, report));
  if (!report.ok) throw new CliError('', EXIT_CODE.failure);
}

/** The first problems of a directory into which a command has written manifests, and how to see all. */
export async function listManifestWarnings(directory: string): Promise<readonly (string | Advice)[]> {
  const { findings } = await createReport(directory);
  const warnings = findings.map(({ file, line, code, message }) => `${file}:${line}: ${code}: ${message}`);
  const seeAll = advise('see all problems with', ['machineconfig-guard', 'check', '--manifests', directory]);
  return warnings.length === 0 ? [] : [...warnings.slice(0, MAX_WARNINGS), seeAll];
}

async function createReport(directory: string): Promise<ManifestsReport> {
  const { fileCount, findings } = await readDirectory(directory, findProblems);
  const ok = findings.every(({ severity }) => severity === 'warning');
  if (fileCount > 0) return { directory, ok, findings };
  const message = `${formatPath(directory)} contains no manifests; choose the directory of an installer`;
  throw new CliError(message, EXIT_CODE.usage);
}

/** @throws CliError if the directory is unusable, or at a stop signal */
async function readDirectory<T>(directory: string, read: (files: AsyncIterable<ManifestFile>) => Promise<T>) {
  return await withStopSignal(async (signal) => {
    try {
      return await read(readManifests(directory, signal));
    } catch (error) {
      if (signal.aborted) throw new CliError('interrupted', EXIT_CODE.interrupted);
      throw error instanceof FileError ? new CliError(error.message, EXIT_CODE.usage, { cause: error }) : error;
    }
  });
}

/** Gives each document a file of its own. A file with one document, or that does not parse, stays as it is. */
async function splitManifests(directory: string, out: string): Promise<void> {
  const contents = new Map<string, string | Buffer>();
  await readDirectory(directory, async (files) => {
    const budget = { tokensLeft: MAX_TOKENS };
    for await (const { path: file, content } of files) {
      if (content === undefined) continue;
      const texts = splitManifest(parseManifest(content, formatPath(file), budget));
      const { dir, name, ext } = path.parse(path.join(out, file));
      for (const [index, text] of (texts.length === 0 ? [content] : texts).entries()) {
        const suffix = texts.length < 2 ? '' : `-${String(index + 1).padStart(2, '0')}`;
        const target = path.join(dir, `${name}${suffix}${ext}`);
        if (contents.has(target)) throw new FileError(`two files would be ${formatPath(target)}; rename one`);
        contents.set(target, text);
      }
    }
  });
  await prepareEmptyDirectory(out);
  await explainFileErrors(out, async () => {
    for (const [target, content] of contents) {
      await mkdir(path.dirname(target), { recursive: true });
      // Manifests can contain secrets.
      await writeFile(target, content, { mode: 0o600, flag: 'wx' });
    }
  });
}

function formatReport(format: TableFormat, { directory, ok, findings }: ManifestsReport): string {
  const rows = findings.map(({ file, line, kind, name, code, severity }) => [
    { text: file },
    { text: String(line) },
    { text: `${kind ?? ''} ${name ?? ''}`.trim() || '<none>' },
    { text: code },
    { text: severity, style: severity === 'error' ? ('red' as const) : undefined },
  ]);
  const items = findings.map(({ code, message, advice }) =>
    wrapBeside(`- ${code}: `, `${message}; ${advice}.`, getLineWidth(format)),
  );
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const counts = `${countNoun(errors, 'error')} and ${countNoun(findings.length - errors, 'warning')}`;
  const conclusion = `${ok ? 'Fine' : 'Not fine'}: ${counts} in ${formatPath(directory)}.`;
  const tables =
    findings.length === 0 ? [] : [formatTable(format, COLUMNS, rows), `${[...new Set(items)].join('\n')}\n`];
  return [...tables, `${applyStyle(format, ok ? 'bold' : ['red', 'bold'], conclusion)}\n`].join('\n');
}
