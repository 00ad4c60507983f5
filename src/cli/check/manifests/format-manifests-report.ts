import { countNoun } from '../../../common/printable-text.ts';
import { formatPath } from '../../../files/file-error.ts';
import {
  applyStyle,
  getLineWidth,
  type TableFormat,
  wrapBeside,
  wrapParagraph,
} from '../../../client/output/text-format.ts';
import type { ManifestsReport } from './check-manifests.ts';
import type { ManifestProblem } from './find-problems.ts';

/** Of equal problems. `-o wide` prints all. */
const MAX_ROWS = 10;
const MARGIN = ' '.repeat('warning  '.length);
/** Codes of files that are no manifests yet. */
const SOURCE_CODES = new Set(['ButaneFile', 'ButaneObject', 'ClientKind']);

/** Equal problems are one block: their places, and below them what is wrong and what to do. */
export function formatManifestsReport(format: TableFormat, report: ManifestsReport): string {
  const blocks = new Map<string, ManifestProblem[]>();
  for (const problem of report.problems) {
    const key = `${problem.severity} ${problem.code} ${problem.message}`;
    blocks.set(key, [...(blocks.get(key) ?? []), problem]);
  }
  const paragraphs = Array.from(blocks.values(), (problems) => formatBlock(format, problems));
  return `${[...paragraphs, ...formatRenders(format, report), formatConclusion(format, report)].join('\n\n')}\n`;
}

function formatBlock(format: TableFormat, problems: readonly ManifestProblem[]): string {
  const width = getLineWidth(format);
  const shown = format.isWide === true ? problems : problems.slice(0, MAX_ROWS);
  const rows = shown.map(({ file, line, kind, name }, index) => {
    const severity = index === 0 ? (problems[0]?.severity ?? '') : '';
    const label = applyStyle(format, severity === 'error' ? 'red' : undefined, severity);
    return wrapBeside(
      label + MARGIN.slice(severity.length),
      [`${file}:${line}`, kind, name].filter(Boolean).join(' '),
      width,
    );
  });
  const others = problems.length - shown.length;
  if (others > 0) rows.push(`${MARGIN}and ${others} more (-o wide)`);
  const explanation = problems
    .slice(0, 1)
    .map(({ code, message, advice }) => `${code}: ${message}; ${advice}.`)
    .join('');
  return [...rows, wrapBeside(MARGIN, explanation, width)].join('\n');
}

function formatRenders(format: TableFormat, { renders }: ManifestsReport): string[] {
  if (renders === null || renders.length === 0) return [];
  const rows = renders.map(
    ({ pool, bootstrap, cluster }) => `${pool}: ${bootstrap === cluster ? `both render ${bootstrap}` : 'different'}`,
  );
  const note = 'The operator rendered them for a generic cluster, so yours gets other names.';
  return [wrapParagraph(format, `${rows.join('. ')}. ${note}`)];
}

function formatConclusion(
  format: TableFormat,
  { ok, problems, manifests, directory, renders }: ManifestsReport,
): string {
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const counts = `${countNoun(errors, 'error')} and ${countNoun(problems.length - errors, 'warning')}`;
  const place = `${countNoun(manifests, 'manifest')} of ${formatPath(directory)}`;
  const conclusion = applyStyle(
    format,
    ok ? 'bold' : ['red', 'bold'],
    `${ok ? 'Fine' : 'Not fine'}: ${counts} in ${place}.`,
  );
  const sentences: string[] = [];
  if (problems.some(({ code }) => SOURCE_CODES.has(code))) {
    sentences.push('Some files are sources for GitOps or another tool. Check what the tool makes of them instead.');
  }
  if (ok && renders === null) {
    sentences.push(
      'Checked: what the bootstrap host and the cluster read, names, and the types of fields.',
      'Not checked: contents that only the operator judges. --operator renders them.',
    );
  }
  return [conclusion, ...(sentences.length === 0 ? [] : [wrapParagraph(format, sentences.join(' '))])].join('\n');
}
