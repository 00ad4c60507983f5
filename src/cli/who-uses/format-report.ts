import { formatName, formatTime } from '../../decision/message.ts';
import { countNoun, joinWithAnd } from '../../common/printable-text.ts';
import { REFERRER_KINDS, REFERRER_NOUNS } from '../../decision/references.ts';
import type { ReferencesReport, ConfigReport, ReferenceEntry } from './references-report.ts';
import { advise } from '../../client/output/advice.ts';
import { formatAge } from '../../client/output/format-age.ts';
import { formatObjectNames } from '../../client/output/format-object-names.ts';
import { createNameShortener } from '../../client/output/name-shortener.ts';
import { formatTable } from '../../client/output/table.ts';
import {
  applyStyle,
  formatNext,
  type ReportFormat,
  type TextFormat,
  wrapParagraph,
  wrapText,
} from '../../client/output/text-format.ts';

const KIB = 1024;
const NONE = '<none>';
const CONFIG_COLUMNS = [
  { header: 'NAME' },
  { header: 'POOL' },
  { header: 'AGE', isRightAligned: true },
  { header: 'SIZE', isRightAligned: true },
];
const CHECK_ADVICE = advise('nodes and pools that name a missing config cannot update; list them with', [
  'machineconfig-guard',
  'check',
]);
const POINT_IN_TIME_NOTICE = 'Point-in-time snapshot; only the guard blocks a deletion.';

/** For `who-uses NAME...`. */
export function formatNamedConfigs(format: TextFormat, report: ReferencesReport): string {
  const parts = report.configs.map((config) => formatConfig(format, config));
  if (report.unreportedNodes > 0) parts.push(wrapParagraph(format, formatUnreported(report)));
  return `${parts.join('\n\n')}\n`;
}

/** With `-o wide`, names the referrers. */
export function formatAllConfigs(format: ReportFormat, report: ReferencesReport): string {
  const { configs } = report;
  if (configs.length === 0) return 'No rendered MachineConfigs found.\n';
  const existing = configs.filter(({ exists }) => exists);
  const unused = existing.filter(({ used }) => !used);
  const missing = configs.length - existing.length;
  const counts = [
    countNoun(existing.length, 'rendered config'),
    `${unused.length} unused (${formatTotalSize(unused)})`,
    ...(missing === 0 ? [] : [`${missing} missing`]),
  ];
  const names = configs.map(({ name }) => name);
  const formatUsers = format.isWide === true ? formatObjectNames : formatCounted;
  const table = formatConfigTable(report, createNameShortener(format, names), 'USED BY', ({ used, usedBy }) =>
    used ? formatUsers(usedBy.filter(({ keepsConfig }) => keepsConfig)) : NONE,
  );
  const sentences = [`${counts.join(', ')}. ${POINT_IN_TIME_NOTICE}`, formatUnreported(report)];
  const next = missing === 0 ? [] : formatNext(format, CHECK_ADVICE);
  return formatTable(format, ...table) + formatSentences(format, sentences) + toLines(next);
}

/** For deletions, so with full names. */
export function formatUnusedConfigs(format: ReportFormat, report: ReferencesReport): string {
  const { configs } = report;
  if (configs.length === 0) return 'No unused rendered MachineConfigs found.\n';
  const table = formatConfigTable(report, formatName, 'HELD UNTIL', ({ heldUntil }) =>
    heldUntil === null ? '' : formatTime(new Date(heldUntil)),
  );
  const sentences = [
    `${countNoun(configs.length, 'unused rendered config')}, ${formatTotalSize(configs)} in total.`,
    POINT_IN_TIME_NOTICE,
    configs.some(isHeld)
      ? 'The guard denies the deletion of a held config, because a machine may be booting with it.'
      : '',
    formatUnreported(report),
  ];
  return formatTable(format, ...table) + formatSentences(format, sentences);
}

export function formatConfigNames(configs: readonly ConfigReport[]): string {
  return toLines(configs.filter(({ exists }) => exists).map(({ name }) => name));
}

/** Like `kubectl get -o name`: `node/worker-0`. */
export function formatReferrerNames(configs: readonly ConfigReport[]): string {
  const entries = configs.flatMap(({ usedBy }) => usedBy.filter(({ keepsConfig }) => keepsConfig));
  return toLines([...new Set(entries.map(({ kind, name }) => `${kind.toLowerCase()}/${name}`))]);
}

/** A note beside the names of the unused configs. */
export function formatUnusedNotice(configs: readonly ConfigReport[]): string {
  const heldCount = configs.filter(isHeld).length;
  return toLines(heldCount === 0 ? [] : [`Omitted ${countNoun(heldCount, 'held config')}.`]) + POINT_IN_TIME_NOTICE;
}

export function isHeld({ heldUntil }: ConfigReport): boolean {
  return heldUntil !== null;
}

/** @returns the columns and the rows; the last column has no header if it is empty */
function formatConfigTable(
  { configs, readAt }: ReferencesReport,
  formatConfigName: (name: string) => string,
  header: string,
  formatLast: (config: ConfigReport) => string,
) {
  const rows = configs.map((config) => {
    const { name, pool, exists, createdAt, sizeBytes } = config;
    const texts = [
      formatConfigName(name),
      pool ?? NONE,
      createdAt === null ? 'missing' : formatAge(Date.parse(readAt) - Date.parse(createdAt)),
      sizeBytes === null ? '' : formatSize(sizeBytes),
      formatLast(config),
    ];
    return texts.map((text) => ({ text, style: exists ? undefined : ('red' as const) }));
  });
  const isEmpty = rows.every((row) => row.at(-1)?.text === '');
  return [[...CONFIG_COLUMNS, { header: isEmpty ? '' : header }], rows] as const;
}

function formatTotalSize(configs: readonly ConfigReport[]): string {
  return formatSize(configs.reduce((sum, { sizeBytes }) => sum + (sizeBytes ?? 0), 0));
}

function formatSize(bytes: number): string {
  if (bytes < KIB) return `${bytes} B`;
  if (bytes < KIB * KIB) return `${Math.round(bytes / KIB)} KiB`;
  return `${(bytes / KIB / KIB).toFixed(1)} MiB`;
}

function formatConfig(format: TextFormat, config: ConfigReport): string {
  const { exists, rendered, used, usedBy, heldUntil, suggestion } = config;
  const name = formatName(config.name);
  const referrers = joinWithAnd(countReferrers(usedBy.filter(({ keepsConfig }) => keepsConfig)));
  const weak = joinWithAnd(countReferrers(usedBy.filter(({ keepsConfig }) => !keepsConfig)));
  const useSentence = used ? `${name} is in use by ${referrers}.` : `${name} is not in use.`;
  const danglingSentence = used ? `It is still named by ${referrers}.` : 'No object uses this exact name.';
  const sentences = [
    exists ? useSentence : `${name} does not exist. ${danglingSentence}`,
    heldUntil === null ? '' : `The guard holds it until ${formatTime(new Date(heldUntil))}.`,
    weak === '' ? '' : `Informational references of ${weak} do not keep it.`,
    suggestion === null ? '' : `Closest existing name: ${suggestion}.`,
    exists && !rendered
      ? 'It is not a rendered config, so the guard does not protect it. Pools that merge it are not listed.'
      : '',
  ];
  const text = wrapParagraph(format, sentences.filter(Boolean).join(' '));
  const table = usedBy.length === 0 ? '' : `\n${formatReferences(format, usedBy)}`.trimEnd();
  return `${applyStyle(format, used && !exists ? 'red' : undefined, text)}${table}`;
}

/** One row has all fields of a referrer that keep the config, or all that do not. */
function formatReferences(format: TextFormat, entries: readonly ReferenceEntry[]): string {
  const fieldsByRow = new Map<string, string[]>();
  for (const { kind, name, field, keepsConfig } of entries) {
    const row = JSON.stringify([kind, name, keepsConfig]);
    fieldsByRow.set(row, [...(fieldsByRow.get(row) ?? []), field]);
  }
  const columns = ['KIND', 'NAME', 'FIELD', 'KEEPS CONFIG'].map((header) => ({ header }));
  const rows = [...fieldsByRow].map(([row, fields]) => {
    const [kind, name, keepsConfig] = JSON.parse(row) as [string, string, boolean];
    return [kind, name, fields.join(', '), keepsConfig ? 'yes' : 'no'].map((text) => ({ text }));
  });
  return formatTable(format, columns, rows);
}

function formatCounted(entries: readonly ReferenceEntry[]): string {
  return countReferrers(entries).join(', ');
}

function countReferrers(entries: readonly ReferenceEntry[]): string[] {
  return REFERRER_KINDS.flatMap((kind) => {
    const { size } = new Set(entries.filter((entry) => entry.kind === kind).map(({ name }) => name));
    return size === 0 ? [] : [countNoun(size, REFERRER_NOUNS[kind])];
  });
}

function formatUnreported({ unreportedNodes: count }: ReferencesReport): string {
  const verb = count === 1 ? 'has' : 'have';
  return count === 0
    ? ''
    : `${countNoun(count, 'node')} ${verb} not reported a configuration yet and can use any config.`;
}

/** Below a table, each on a line of its own. */
function formatSentences(format: TextFormat, sentences: readonly string[]): string {
  return `\n${toLines(sentences.filter(Boolean).flatMap((sentence) => wrapText(sentence, format.width)))}`;
}

function toLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}
