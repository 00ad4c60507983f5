import { groupBy } from '../../../common/group-by.ts';
import { countNoun } from '../../../common/printable-text.ts';
import { formatPath } from '../../../files/file-error.ts';
import { applyStyle, getLineWidth, type TextFormat, wrapBeside } from '../../../client/output/text-format.ts';
import type { ManifestsReport } from './check-manifests.ts';
import type { ManifestProblem } from './find-problems.ts';

/** Of equal problems. `-o wide` prints all. */
const MAX_ROWS = 10;
const MARGIN = ' '.repeat('warning  '.length);
const SOURCE_PROBLEM = /^(?:ButaneFile|ButaneObject|ClientKind|Placeholder|Unparsable: a template)/;
const SOURCE_NOTE =
  'Some files are input of GitOps or another tool. Check the manifests that kustomize, helm, butane or the hub writes.';
const RENDER_NOTE = 'The operator rendered them for a generic cluster, so yours gets other names.';
const SCOPE_NOTE =
  'Checked: what the bootstrap host and the cluster read, names, and the types of fields. ' +
  'Not checked: contents that only the operator judges. --operator renders them.';

export function formatManifestsReport(format: TextFormat, report: ManifestsReport): string {
  const { ok, problems, manifests, directory, renders } = report;
  const blocks = groupBy(
    problems,
    ({ severity, code, message, advice }) => `${severity} ${code}: ${message}; ${advice}.`,
  );
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const counts = `${countNoun(errors, 'error')} and ${countNoun(problems.length - errors, 'warning')}`;
  const place = `${countNoun(manifests, 'manifest')} of ${formatPath(directory)}`;
  const conclusion = `${ok ? 'Fine' : 'Not fine'}: ${counts} in ${place}.`;
  const pools = renders?.map(({ pool, bootstrap, cluster }) => {
    return `${pool}: ${bootstrap === cluster ? `both render ${bootstrap}` : 'different'}. `;
  });
  const notes = [
    ...(pools === undefined || pools.length === 0 ? [] : [pools.join('') + RENDER_NOTE]),
    ...(problems.some(({ code, message }) => SOURCE_PROBLEM.test(`${code}: ${message}`)) ? [SOURCE_NOTE] : []),
    ...(ok && renders === null ? [SCOPE_NOTE] : []),
  ];
  return [
    ...Array.from(blocks, ([key, block]) => `${formatBlock(format, key, block)}\n`),
    applyStyle(format, ok ? 'bold' : ['red', 'bold'], conclusion),
    ...notes.map((note) => wrapBeside('', note, format.width)),
    '',
  ].join('\n');
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
