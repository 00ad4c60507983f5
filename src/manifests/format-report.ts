import { applyStyle, getLineWidth, type TextFormat, wrapBeside } from '../client/output/text-format.ts';
import { groupBy } from '../common/group-by.ts';
import { countNoun } from '../common/printable-text.ts';
import { formatPath } from '../files/file-error.ts';
import type { PoolRenders } from './compare-renders.ts';
import type { ManifestProblem } from './find-problems.ts';
import type { Message } from './rules/rule.ts';
import { type Code, RULES } from './rules/rules.ts';

/** The JSON of `check manifests DIR --output json`. Its keys are a contract. */
export interface ManifestsReport {
  readonly directory: string;
  readonly openshiftVersion: string | null;
  /** How many files with manifests there are. */
  readonly manifests: number;
  /** Whether the exit code is 0. */
  readonly ok: boolean;
  readonly problems: readonly ManifestProblem[];
  /** Null without `--operator`, or if it cannot render. */
  readonly renders: readonly PoolRenders[] | null;
  /** Whether the names of the renders are those of the cluster, because the directory has all that they depend on. */
  readonly hasRealNames: boolean;
}

/** Of equal problems. `-o wide` prints all. */
const MAX_ROWS = 10;
const MARGIN = ' '.repeat('warning  '.length);
const SOURCE_CODES: ReadonlySet<Code> = new Set(['ButaneFile', 'ButaneObject', 'ClientKind', 'Placeholder']);
const SOURCE_NOTE =
  'Some files are input of GitOps or another tool. Check the manifests that kustomize, helm, butane or the hub ' +
  'writes, such as with: kustomize build DIR | machineconfig-guard check manifests -';
const GENERIC_NOTE =
  'The operator rendered them without the ControllerConfig and the FeatureGate of the bootstrap host, so yours gets ' +
  'other names.';
const REAL_NOTE = 'The names are those of your cluster.';
const SCOPE_NOTE =
  'Checked: what the bootstrap host and the cluster read, names, and fields by the schemas of the releases. ' +
  'Not checked: what only the operator judges. --operator renders the manifests.';

/** A stream is no file of an installer. */
const STDIN_NOTE =
  'Write each document of stdin into a file of its own: the cluster gets only the first one of a file.';

/** Formats the problems, each explanation once, and a conclusion. */
export function formatManifestsReport(format: TextFormat, report: ManifestsReport): string {
  const { ok, problems, renders, hasRealNames } = report;
  const blocks = groupBy(problems, ({ severity, code, message, advice }) => {
    return `${severity} ${code}: ${message}; ${advice}.`;
  });
  const pools = renders?.map(({ pool, bootstrap, cluster }) => {
    return `${pool}: ${bootstrap === cluster ? `both render ${bootstrap}` : 'different'}. `;
  });
  const notes: string[] = [];
  if (pools !== undefined && pools.length > 0) notes.push(pools.join('') + (hasRealNames ? REAL_NOTE : GENERIC_NOTE));
  if (problems.some(({ code }) => SOURCE_CODES.has(code))) notes.push(SOURCE_NOTE);
  if (ok && renders === null) notes.push(SCOPE_NOTE);
  if (report.directory === '-') notes.push(STDIN_NOTE);
  return [
    ...Array.from(blocks, ([key, block]) => `${formatBlock(format, key, block)}\n`),
    applyStyle(format, ok ? 'bold' : ['red', 'bold'], wrapBeside('', formatConclusion(report), format.width)),
    ...notes.map((note) => wrapBeside('', note, format.width)),
    '',
  ].join('\n');
}

function formatConclusion({ ok, problems, manifests, directory }: ManifestsReport): string {
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const counts = `${countNoun(errors, 'error')} and ${countNoun(problems.length - errors, 'warning')}`;
  const place = `${countNoun(manifests, 'manifest')} of ${directory === '-' ? 'stdin' : formatPath(directory)}`;
  const hasLoss = problems.some(({ code }) => (RULES[code] as Message).isLoss);
  if (!ok) return `Not fine: ${counts} in ${place}.`;
  return `${hasLoss ? 'Installs, but a part of the manifests has no effect' : 'Fine'}: ${counts} in ${place}.`;
}

function formatBlock(format: TextFormat, key: string, problems: readonly ManifestProblem[]): string {
  const [severity = ''] = key.split(' ', 1);
  const width = getLineWidth(format);
  const shown = problems.slice(0, format.isWide === true ? undefined : MAX_ROWS);
  const rows = shown.map(({ file, line, kind, name }) => {
    return wrapBeside(MARGIN, [`${file}:${line}`, kind, name].filter(Boolean).join(' '), width);
  });
  if (shown.length < problems.length) rows.push(`${MARGIN}and ${problems.length - shown.length} more (-o wide)`);
  const text = [...rows, wrapBeside(MARGIN, key.slice(severity.length + 1), width)].join('\n');
  return applyStyle(format, severity === 'error' ? 'red' : undefined, severity) + text.slice(severity.length);
}
