import path from 'node:path';
import { toPrintableLine } from '../../../common/printable-text.ts';
import { ProgramError } from '../../../rendered-config/operator/run-program.ts';
import type { TextFormat } from '../../../client/output/text-format.ts';
import { compareRenders, type PoolRenders } from './compare-renders.ts';
import { findProblems, type ManifestProblem } from './find-problems.ts';
import { formatManifestsReport } from './format-manifests-report.ts';
import { createRender } from '../../../rendered-config/operator/render.ts';
import { findOperatorImage, findRenderer } from '../../../rendered-config/operator/renderer.ts';
import { createEmptyError, readManifests } from './read-manifests.ts';
import { splitManifests } from './split-manifests.ts';

/** The JSON of `check --manifests DIR --output json`. Its keys are a contract. */
export interface ManifestsReport {
  readonly directory: string;
  readonly openshiftVersion: string | null;
  readonly manifests: number;
  readonly ok: boolean;
  readonly problems: readonly ManifestProblem[];
  /** Null without `--operator`, or if it cannot render. */
  readonly renders: readonly PoolRenders[] | null;
}

export interface ManifestsFlags {
  readonly split?: string;
  readonly openshiftVersion?: string;
  readonly operator?: string;
  readonly releaseImage?: string;
  readonly authfile?: string;
}

interface ManifestsOptions extends ManifestsFlags {
  readonly format: TextFormat;
  readonly signal: AbortSignal;
  readonly onProgress: (text: string) => void;
}

export async function checkManifests(source: string, options: ManifestsOptions) {
  const { split, openshiftVersion, operator, releaseImage, authfile, format, signal, onProgress } = options;
  if (split !== undefined) await splitManifests(source, split, signal);
  const directory = split ?? source;
  const found = await findProblems(readManifests(directory, signal), openshiftVersion);
  const { manifests } = found.directory;
  if (manifests.length === 0) throw createEmptyError(directory);
  let { problems } = found;
  let renders: readonly PoolRenders[] | null = null;
  let failure: string | undefined;
  if (operator !== undefined || releaseImage !== undefined) {
    try {
      onProgress('looking for the operator');
      const image = operator ?? (await findOperatorImage(releaseImage ?? '', authfile, signal));
      const renderer = await findRenderer(image, authfile, signal);
      onProgress('rendering what the bootstrap host and what the cluster get');
      const result = await compareRenders(found.directory, createRender(renderer, signal));
      renders = result.renders;
      problems = [...result.problems, ...problems];
    } catch (error) {
      if (!(error instanceof ProgramError)) throw error;
      failure = error.message;
    }
  }
  const ok = problems.every(({ severity }) => severity === 'warning');
  const version = openshiftVersion ?? null;
  const report = { directory, openshiftVersion: version, manifests: manifests.length, ok, problems, renders };
  const files = new Set(problems.map(({ file }) => path.join(directory, file)));
  const names = [...files].map((file) => `${toPrintableLine(file, Number.POSITIVE_INFINITY)}\n`).join('');
  return { report, table: formatManifestsReport(format, report), names, failure };
}
