import { formatName, formatTime } from '../../decision/message.ts';
import { countNoun, joinWithAnd } from '../../common/printable-text.ts';
import { REFERRER_KINDS, REFERRER_NOUNS } from '../../decision/references.ts';
import type {
  ConfigListReport,
  ReferencesReport,
  ConfigReport,
  ReferenceEntry,
  UnusedReport,
} from './references-report.ts';
import { advise } from '../../client/output/advice.ts';
import { formatAge } from '../../client/output/format-age.ts';
import { formatObjectNames } from '../../client/output/format-object-names.ts';
import { createNameShortener } from '../../client/output/name-shortener.ts';
import { formatTable } from '../../client/output/table.ts';
import {
  applyStyle,
  type TableFormat,
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

export const POINT_IN_TIME_NOTICE = 'Point-in-time snapshot; only the guard blocks a deletion.';

export function formatReferencesReport(format: TextFormat, { configs, unreportedNodes }: ReferencesReport): string {
  const parts = configs.map((config) => formatConfig(format, config));
  if (unreportedNodes > 0)
    parts.push(wrapParagraph(format, formatUnreported(unreportedNodes, 'and can use any config.')));
  return `${parts.join('\n\n')}\n`;
}

/** With `-o wide`, names the referrers. */
export function formatConfigList(format: ReportFormat, { configs, unreportedNodes, readAt }: ConfigListReport): string {
  if (configs.length === 0) return 'No rendered MachineConfigs found.\n';
  const shortenName = createNameShortener(
    format,
    configs.map(({ name }) => name),
  );
  const formatUsers = format.isWide === true ? formatObjectNames : formatCounted;
  const rows = configs.map(({ name, pool, exists, createdAt, sizeBytes, used, usedBy }) => {
    const texts = [
      shortenName(name),
      pool ?? NONE,
      createdAt === null ? 'missing' : formatAge(Date.parse(readAt) - Date.parse(createdAt)),
      sizeBytes === null ? '' : formatSize(sizeBytes),
      used ? formatUsers(usedBy.filter(({ keepsConfig }) => keepsConfig)) : NONE,
    ];
    return texts.map((text) => ({ text, style: exists ? undefined : ('red' as const) }));
  });
  const sentences = [
    formatCounts(configs),
    unreportedNodes === 0 ? '' : formatUnreported(unreportedNodes, 'and can use any config.'),
  ];
  const table = formatTable(format, [...CONFIG_COLUMNS, { header: 'USED BY' }], rows);
  const next = configs.every(({ exists }) => exists) ? [] : formatNext(format, CHECK_ADVICE);
  return `${table}\n${formatSentences(format, sentences)}${toLines(next)}`;
}

function formatCounts(configs: ConfigListReport['configs']): string {
  const existing = configs.filter(({ exists }) => exists);
  const unused = existing.filter(({ used }) => !used);
  const missing = configs.length - existing.length;
  const bytes = unused.reduce((sum, { sizeBytes }) => sum + (sizeBytes ?? 0), 0);
  const counts = [
    countNoun(existing.length, 'rendered config'),
    `${unused.length} unused (${formatSize(bytes)})`,
    ...(missing === 0 ? [] : [`${missing} missing`]),
  ];
  return `${counts.join(', ')}. ${POINT_IN_TIME_NOTICE}`;
}

export function formatConfigNames({ configs }: ConfigListReport): string {
  return toLines(configs.filter(({ exists }) => exists).map(({ name }) => name));
}

/** Like `kubectl get -o name`: `node/worker-0`. */
export function formatReferrerNames({ configs }: ReferencesReport): string {
  const entries = configs.flatMap(({ usedBy }) => usedBy.filter(({ keepsConfig }) => keepsConfig));
  return toLines([...new Set(entries.map(({ kind, name }) => `${kind.toLowerCase()}/${name}`))]);
}

export function formatUnusedReport(format: TableFormat, report: UnusedReport, renderedCount: number): string {
  const { unused, totalBytes, unreportedNodes, readAt } = report;
  if (renderedCount === 0) return 'No rendered MachineConfigs found.\n';
  if (unused.length === 0) return 'Every rendered config is in use.\n';
  const now = new Date(readAt).getTime();
  const hasNotes = unused.some(({ mentionedBy }) => mentionedBy.length > 0);
  const heldCount = unused.filter(({ heldUntil }) => heldUntil !== null).length;
  const columns = [
    ...CONFIG_COLUMNS,
    ...(hasNotes ? [{ header: 'NOTES', isRightAligned: true }] : []),
    ...(heldCount === 0 ? [] : [{ header: 'HELD UNTIL' }]),
  ];
  const rows = unused.map(({ name, pool, createdAt, sizeBytes, mentionedBy, heldUntil }) => [
    { text: formatName(name) },
    { text: pool ?? NONE },
    { text: formatAge(now - new Date(createdAt).getTime()) },
    { text: formatSize(sizeBytes) },
    ...(hasNotes ? [{ text: mentionedBy.length === 0 ? '' : String(mentionedBy.length) }] : []),
    ...(heldCount === 0 ? [] : [{ text: heldUntil === null ? '' : formatTime(new Date(heldUntil)) }]),
  ]);
  const sentences = [
    `${countNoun(unused.length, 'unused rendered config')}, ${formatSize(totalBytes)} in total.`,
    POINT_IN_TIME_NOTICE,
    heldCount === 0 ? '' : 'The guard denies the deletion of a held config, because a machine may be booting with it.',
    hasNotes ? 'NOTES counts informational references. They do not keep the config; who-uses NAME lists them.' : '',
    unreportedNodes === 0 ? '' : formatUnreported(unreportedNodes, 'and can use one of these configs.'),
  ];
  return `${formatTable(format, columns, rows)}\n${formatSentences(format, sentences)}`;
}

/** Without held configs, so that their names can be piped to a deletion. */
export function formatUnusedNames({ unused }: UnusedReport): string {
  return toLines(unused.filter(({ heldUntil }) => heldUntil === null).map(({ name }) => name));
}

export function formatHeldNotice({ unused }: UnusedReport): string {
  const held = unused.filter(({ heldUntil }) => heldUntil !== null);
  return held.length === 0 ? '' : `Omitted ${countNoun(held.length, 'held config')}.\n`;
}

function formatSize(bytes: number): string {
  if (bytes < KIB) return `${bytes} B`;
  if (bytes < KIB * KIB) return `${Math.round(bytes / KIB)} KiB`;
  return `${(bytes / KIB / KIB).toFixed(1)} MiB`;
}

function formatConfig(format: TextFormat, config: ConfigReport): string {
  const { exists, rendered, usedBy, suggestion } = config;
  const strong = usedBy.filter(({ keepsConfig }) => keepsConfig);
  const weak = usedBy.filter(({ keepsConfig }) => !keepsConfig);
  const name = formatName(config.name);
  const referrers = joinWithAnd(countReferrers(strong));
  const isUsed = strong.length > 0;
  const useSentence = isUsed ? `${name} is in use by ${referrers}.` : `${name} is not in use.`;
  const danglingSentence = isUsed ? `It is still named by ${referrers}.` : 'No object uses this exact name.';
  const sentences = [
    exists ? useSentence : `${name} does not exist. ${danglingSentence}`,
    weak.length > 0 ? `Informational references of ${joinWithAnd(countReferrers(weak))} do not keep it.` : '',
    suggestion === null ? '' : `Closest existing name: ${suggestion}.`,
    exists && !rendered
      ? 'It is not a rendered config, so the guard does not protect it. Pools that merge it are not listed.'
      : '',
  ];
  const style = isUsed && !exists ? 'red' : undefined;
  const text = wrapParagraph(format, sentences.filter(Boolean).join(' '));
  const table = usedBy.length === 0 ? '' : `\n${formatReferences(format, usedBy)}`.trimEnd();
  return `${applyStyle(format, style, text)}${table}`;
}

/** One row has all fields of a referrer that keep the config, or all that do not. */
function formatReferences(format: TextFormat, entries: readonly ReferenceEntry[]): string {
  const rows = new Map<string, { readonly entry: ReferenceEntry; readonly fields: string[] }>();
  for (const entry of entries) {
    const key = `${entry.kind} ${entry.name} ${entry.keepsConfig}`;
    const row = rows.get(key) ?? { entry, fields: [] };
    row.fields.push(entry.field);
    rows.set(key, row);
  }
  const columns = ['KIND', 'NAME', 'FIELD', 'KEEPS CONFIG'].map((header) => ({ header }));
  const cells = [...rows.values()].map(({ entry: { kind, name, keepsConfig }, fields }) =>
    [kind, name, fields.join(', '), keepsConfig ? 'yes' : 'no'].map((text) => ({ text })),
  );
  return formatTable(format, columns, cells);
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

function formatUnreported(nodes: number, consequence: string): string {
  return `${countNoun(nodes, 'node')} ${nodes === 1 ? 'has' : 'have'} not reported a configuration yet ${consequence}`;
}

/** Each on a line of its own. Omits empty ones. */
function formatSentences(format: TextFormat, sentences: readonly string[]): string {
  return toLines(sentences.filter(Boolean).flatMap((sentence) => wrapText(sentence, format.width)));
}

function toLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}
