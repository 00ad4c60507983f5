import path from 'node:path';
import type { TextFormat } from '../client/output/text-format.ts';
import { withStopSignal } from '../client/signals.ts';
import { toPrintableLine } from '../common/printable-text.ts';
import { hasRealNames } from '../rendered-config/operator/base-manifests.ts';
import { createRender } from '../rendered-config/operator/render.ts';
import { findOperatorImage, findRenderer } from '../rendered-config/operator/renderer.ts';
import { compareRenders, listClusterObjects } from './compare-renders.ts';
import { findProblems } from './find-problems.ts';
import { formatManifestsReport, type ManifestsReport } from './format-report.ts';
import type { ManifestSet } from './manifest-set.ts';
import { createEmptyError, type ManifestInput, readManifests } from './read-manifests.ts';
import { splitManifests } from './split-manifests.ts';

export interface ManifestsFlags {
  readonly split?: string;
  readonly openshiftVersion?: string;
  readonly operator?: string;
  readonly releaseImage?: string;
  readonly authfile?: string;
  readonly warningsAsErrors?: boolean;
}

interface ManifestsOptions extends ManifestsFlags {
  readonly format: TextFormat;
  readonly onProgress: (text: string) => void;
}

interface ManifestsResult {
  readonly report: ManifestsReport;
  readonly table: string;
  /** The files with problems, one a line. */
  readonly names: string;
  /** Why the operator could not render. */
  readonly failure: string | undefined;
  /** That the schemas are those of another release. */
  readonly warning: string | undefined;
}

type RenderResult = Pick<ManifestsReport, 'hasRealNames' | 'problems' | 'renders'> & {
  readonly failure: string | undefined;
};

/**
 * Checks the manifests of an install.
 * @param source a directory, a file, or `-` for stdin
 * @throws FileError; CliError, also after a signal
 */
export async function checkManifests(source: string, options: ManifestsOptions): Promise<ManifestsResult> {
  const { split, openshiftVersion, format, warningsAsErrors = false } = options;
  const input = await withStopSignal((signal) => readInput(source, split, signal), 'interrupted');
  const directory = split ?? source;
  const release = openshiftVersion?.split('.', 2).join('.');
  // It has nothing to clean up. So a signal, for which nothing listens now, ends the process at once.
  const found = findProblems(input, release);
  // An error can be the reason why there are no objects, and explains it better.
  if (found.set.all.length === 0 && found.problems.every(({ severity }) => severity === 'warning'))
    throw createEmptyError(directory);
  const rendered = await withStopSignal((signal) => renderManifests(found.set, options, signal), 'interrupted');
  const problems = [...rendered.problems, ...found.problems];
  const report: ManifestsReport = {
    directory,
    openshiftVersion: openshiftVersion ?? null,
    manifests: found.set.manifests.length,
    ok: problems.every(({ severity }) => severity === 'warning' && !warningsAsErrors),
    problems,
    renders: rendered.renders,
    hasRealNames: rendered.hasRealNames,
  };
  const [nearest] = found.set.schemaReleases;
  const isOther = release !== undefined && release !== nearest;
  const warning = isOther ? `no schemas of ${release}; checked with those of ${nearest}` : undefined;
  const files = new Set(problems.map(({ file }) => path.join(directory, file)));
  const names = [...files].map((file) => `${toPrintableLine(file, Number.POSITIVE_INFINITY)}\n`).join('');
  return { report, table: formatManifestsReport(format, report), names, failure: rendered.failure, warning };
}

async function readInput(source: string, split: string | undefined, signal: AbortSignal): Promise<ManifestInput> {
  const input = await readManifests(source, signal);
  if (split === undefined) return input;
  await splitManifests(source, input, split, signal);
  const { installConfig, installer } = input;
  return { ...(await readManifests(split, signal)), installConfig, installer };
}

/** Never rejects because of the operator: its failure must not hide the other problems. */
async function renderManifests(
  set: ManifestSet,
  { operator, releaseImage, authfile, onProgress }: ManifestsOptions,
  signal: AbortSignal,
): Promise<RenderResult> {
  const nothing = { renders: null, problems: [], hasRealNames: false, failure: undefined };
  if (operator === undefined && releaseImage === undefined) return nothing;
  try {
    onProgress('looking for the operator');
    const image = operator ?? (await findOperatorImage(releaseImage ?? '', authfile, signal));
    const renderer = await findRenderer(image, authfile, signal);
    onProgress('rendering what the bootstrap host and what the cluster get');
    const objects = listClusterObjects(set);
    const result = await compareRenders(set, createRender(renderer, objects, signal));
    return { ...nothing, ...result, hasRealNames: hasRealNames(objects) };
  } catch (error) {
    signal.throwIfAborted();
    return { ...nothing, failure: (error as Error).message };
  }
}
