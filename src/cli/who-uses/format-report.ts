import { groupBy } from '../../common/group-by.ts';
import { countNoun, joinWithAnd } from '../../common/printable-text.ts';
import { shell } from '../../diagnosis/shell-command.ts';
import { REFERRER_KINDS, REFERRER_NOUNS } from '../../mco/referrer.ts';
import type { ConfigReport, ReferenceEntry, ReferencesReport } from './references-report.ts';
import { advise } from '../../client/output/advice.ts';
import { formatAge, formatObjectNames, formatResourceName, formatShortName } from '../../client/output/short-forms.ts';
import { formatNarrowTable, NONE } from '../../client/output/table.ts';
import { applyStyle, formatNext, type ReportFormat, wrapParagraph, wrapText } from '../../client/output/text-format.ts';
import { ALLOW_DELETION_ANNOTATION } from '../../api/annotations.ts';
import { formatName } from '../../mco/machine-config.ts';
import { formatTime } from '../../review/hold.ts';

const CHECK_ADVICE = advise(
  'nodes and pools that name a missing config cannot update; list them with',
  shell`machineconfig-guard check`,
);
const OVERRIDE = `annotation ${ALLOW_DELETION_ANNOTATION} lets any client delete`;
const POINT_IN_TIME_NOTICE = 'Point-in-time snapshot; only the guard blocks a deletion.';

export function formatNamedConfigs(format: ReportFormat, report: ReferencesReport): string {
  const parts = report.configs.map((config) => formatConfig(format, config));
  if (report.unreportedNodes > 0) parts.push(wrapParagraph(format, formatUnreported(report)));
  return `${parts.join('\n\n')}\n`;
}

/** With `-o wide`, names the referrers. The names of unused configs are full, because people delete them. */
export function formatConfigList(format: ReportFormat, report: ReferencesReport, areUnused: boolean): string {
  const { configs, readAt } = report;
  if (configs.length === 0) return `No ${areUnused ? 'unused ' : ''}rendered MachineConfigs found.\n`;
  const rows = configs.map((config) => {
    const { name, pool, exists, createdAt } = config;
    const texts = [
      areUnused ? formatName(name) : formatShortName(format, name),
      pool ?? NONE,
      createdAt === null ? 'missing' : formatAge(Date.parse(readAt) - Date.parse(createdAt)),
      formatUsers(format, config),
    ];
    return texts.map((text) => ({ text, style: exists ? undefined : ('red' as const) }));
  });
  const overridden = configs.filter((config) => config.used && config.overridden);
  const sentences = [
    `${formatCounts(configs, areUnused)} ${POINT_IN_TIME_NOTICE}`,
    configs.some(isHeld) ? 'The guard denies the deletion of a held config, because a machine may boot with it.' : '',
    overridden.length === 0 ? '' : `The ${OVERRIDE} ${countNoun(overridden.length, 'config')} in use.`,
    formatUnreported(report),
  ];
  const lines = sentences.filter(Boolean).flatMap((sentence) => wrapText(sentence, format.width));
  const next = configs.every(({ exists }) => exists) ? [] : formatNext(format, CHECK_ADVICE);
  // The name contains the pool.
  const table = formatNarrowTable(format, ['NAME', 'POOL', 'AGE', 'USED BY'], rows, ['POOL', 'AGE']);
  return `${table}\n${toLines([...lines, ...next])}`;
}

function formatUsers({ isWide }: ReportFormat, { used, usedBy, heldUntil }: ConfigReport): string {
  if (!used) return heldUntil === null ? NONE : `${NONE}, held until ${formatTime(new Date(heldUntil))}`;
  const strong = usedBy.filter(({ keepsConfig }) => keepsConfig);
  return isWide === true ? formatObjectNames(strong) : countReferrers(strong).join(', ');
}

function formatCounts(configs: readonly ConfigReport[], areUnused: boolean): string {
  const existing = configs.filter(({ exists }) => exists);
  const unused = existing.filter(({ used }) => !used);
  const missing = configs.length - existing.length;
  if (areUnused) return `${countNoun(unused.length, 'unused rendered config')}.`;
  const counts = [countNoun(existing.length, 'rendered config'), `${unused.length} unused`];
  return `${[...counts, ...(missing === 0 ? [] : [`${missing} missing`])].join(', ')}.`;
}

/** Omits missing configs, and of unused configs those that the guard holds. */
export function formatConfigNames(configs: readonly ConfigReport[], areUnused: boolean): string {
  const listed = configs.filter((config) => config.exists && !(areUnused && isHeld(config)));
  return toLines(listed.map(({ name }) => formatResourceName('MachineConfig', name)));
}

export function formatUnusedNotice(configs: readonly ConfigReport[]): string {
  const { length } = configs.filter(isHeld);
  return (length === 0 ? '' : `Omitted ${countNoun(length, 'held config')}.\n`) + POINT_IN_TIME_NOTICE;
}

function isHeld({ heldUntil }: ConfigReport): boolean {
  return heldUntil !== null;
}

function formatConfig(format: ReportFormat, config: ConfigReport): string {
  const { exists, rendered, used, usedBy, heldUntil, suggestion, mergedBy, recoverableReason } = config;
  const name = formatName(config.name);
  const referrers = joinWithAnd(countReferrers(usedBy.filter(({ keepsConfig }) => keepsConfig)));
  const weak = joinWithAnd(countReferrers(usedBy.filter(({ keepsConfig }) => !keepsConfig)));
  const pools = formatObjectNames(mergedBy.map((pool) => ({ kind: 'MachineConfigPool', name: pool })));
  const useSentence = used ? `${name} is in use by ${referrers}.` : `${name} is not in use.`;
  const danglingSentence = used ? `It is still named by ${referrers}.` : 'No object uses this exact name.';
  const existsSentence = pools === '' || used ? useSentence : `${name} is a source config, merged by ${pools}.`;
  const sentences = [
    exists ? existsSentence : `${name} does not exist. ${danglingSentence}`,
    exists || recoverableReason === null ? '' : `${recoverableReason}.`,
    used && config.overridden ? `Its ${OVERRIDE} it.` : '',
    heldUntil === null ? '' : `The guard holds it until ${formatTime(new Date(heldUntil))}.`,
    weak === '' ? '' : `Informational references of ${weak} do not keep it.`,
    suggestion === null ? '' : `Closest existing name: ${suggestion}.`,
    exists && !rendered ? 'It is not a rendered config, so the guard does not protect it.' : '',
  ];
  const text = wrapParagraph(format, sentences.filter(Boolean).join(' '));
  const table = usedBy.length === 0 ? '' : `\n${formatReferences(format, usedBy)}`.trimEnd();
  return `${applyStyle(format, used && !exists ? 'red' : undefined, text)}${table}`;
}

/** One row has all fields of a referrer that keep the config, or all that do not. */
function formatReferences(format: ReportFormat, entries: readonly ReferenceEntry[]): string {
  const groups = groupBy(entries, ({ kind, name, keepsConfig }) => `${kind} ${name} ${keepsConfig}`);
  const rows = [...groups.values()].map((group) => {
    const [{ kind, name, keepsConfig }] = group as [ReferenceEntry];
    return [kind, name, group.map(({ field }) => field).join(', '), keepsConfig ? 'yes' : 'no'];
  });
  // The text above the table says which objects do not keep it.
  return formatNarrowTable(format, ['KIND', 'NAME', 'FIELD', 'KEEPS CONFIG'], rows, ['KEEPS CONFIG', 'KIND']);
}

function countReferrers(entries: readonly ReferenceEntry[]): string[] {
  return REFERRER_KINDS.flatMap((kind) => {
    const { size } = new Set(entries.filter((entry) => entry.kind === kind).map(({ name }) => name));
    return size === 0 ? [] : [countNoun(size, REFERRER_NOUNS[kind])];
  });
}

function formatUnreported({ unreportedNodes: count }: ReferencesReport): string {
  return count === 0 ? '' : `${countNoun(count, 'node')} without a reported configuration can use any config.`;
}

function toLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}
