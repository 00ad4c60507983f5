import { groupBy } from '../../common/group-by.ts';
import { countNoun, joinFirst, joinWithAnd, toPrintableLine } from '../../common/printable-text.ts';
import { formatAge, formatObjectNames, formatResourceName, formatShortName } from '../../client/output/short-forms.ts';
import { formatNarrowTable, formatTable, NONE, type Rows } from '../../client/output/table.ts';
import {
  applyStyle,
  formatCommand,
  type ReportFormat,
  wrapBeside,
  wrapParagraph,
  wrapText,
} from '../../client/output/text-format.ts';
import type { Cause } from '../../diagnosis/cause.ts';
import { getRule, summarize } from '../../diagnosis/cause-rules.ts';
import type { CheckedPool } from '../../diagnosis/diagnose.ts';
import type { CheckReport, ClusterCheck } from './check-cluster.ts';
import { ALLOW_DELETION_ANNOTATION } from '../../api/annotations.ts';
import { formatName } from '../../mco/machine-config.ts';

/** Of one kind of cause. */
const MAX_GROUPS = 5;
/** A larger table combines equal rows, and ends here. */
const MAX_ROWS = 20;
const MAX_REPAIRS = 10;
/** As the texts of causes have them. */
const TIMES = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g;
const MAX_STATE_LENGTH = 24;
const MAX_PROGRESS_LENGTH = 400;

const NODE_HEADERS = ['NODE', 'POOL', 'STATE', 'CURRENT', 'DESIRED', 'CHECK'];
const POOL_HEADERS = ['POOL', 'MACHINES', 'UPDATED', 'SPEC', 'STATUS', 'CHECK'];

/** The text of `check`: tables, then the causes, then what to do and what not to do, then the result. */
export function formatCheckReport(format: ReportFormat, check: ClusterCheck, hasWaited = false): string {
  const { report, causes } = check;
  const { ok, skippedNodes, overriddenConfigs, unselectedSources, unreadable } = report;
  const list = (text: string, names: readonly string[]): string =>
    names.length === 0 ? '' : wrapParagraph(format, `${text}: ${joinFirst(names)}.`);
  const conclusion = wrapParagraph(format, formatConclusion(check, hasWaited));
  const parts = [
    ...formatTables(format, check),
    list('Skipped nodes that the Machine Config Operator does not manage', skippedNodes),
    formatCauses(format, causes),
    list(`In use, but the annotation ${ALLOW_DELETION_ANNOTATION} lets any client delete them`, overriddenConfigs),
    list('No machineConfigSelector selects these MachineConfigs, so they have no effect', unselectedSources),
    formatRequests(format, report),
    list('Not checked, because you lack the right to read them', unreadable),
    formatRepairs(format, report),
    formatWarnings(format, causes),
    applyStyle(format, ok ? 'bold' : ['red', 'bold'], conclusion),
  ];
  const visibleParts = parts.filter(Boolean).map((part) => part.trimEnd());
  return `${visibleParts.join('\n\n')}\n`;
}

/** The objects that have a problem, for `-o name`. */
export function formatProblemNames({ problems }: CheckReport): string {
  const names = problems.flatMap(({ kind, name }) =>
    kind === null ? [] : `${formatResourceName(kind, String(name))}\n`,
  );
  return [...new Set(names)].join('');
}

/** One line about an intermediate result of `--wait`. */
export function formatProgress({ report }: ClusterCheck): string {
  const requests = report.pendingCertificateRequests.requests.map(
    ({ name }) => `certificate request ${name} is pending`,
  );
  const clauses = [...report.problems.map(({ message }) => message), ...requests].join('; ');
  const text = [countProblems(report), clauses].filter(Boolean).join(': ');
  return toPrintableLine(text, MAX_PROGRESS_LENGTH);
}

/** The columns that a narrow terminal loses first. The last column is `CHECK`. */
const DISPENSABLE = ['DESIRED', 'STATUS', 'CURRENT', 'SPEC', 'STATE', 'UPDATED'];

function formatTables(format: ReportFormat, { report, causes }: ClusterCheck): string[] {
  const { nodes, pools, checkedAt } = report;
  const toLabel = (config: string | null): string => (config === null ? NONE : formatShortName(format, config));
  const causesByObject = groupBy(causes, ({ referrer }) => `${referrer?.kind} ${referrer?.name}`);
  const createRow = (kind: string, texts: readonly [string, ...string[]], note = ''): Rows[number] => {
    const own = causesByObject.get(`${kind} ${texts[0]}`) ?? [];
    const state = summarizeCauses(own) || 'ok';
    return [...texts, { text: note === '' ? state : `${state}, ${note}`, style: own.length === 0 ? undefined : 'red' }];
  };
  const nodeRows = sortProblematicFirst(nodes).map(({ name, pool, conflictingPools, state, ...node }) => {
    const poolText = pool ?? (conflictingPools.join('+') || NONE);
    const shortState = toPrintableLine(state, MAX_STATE_LENGTH) || NONE;
    return createRow('Node', [name, poolText, shortState, toLabel(node.currentConfig), toLabel(node.desiredConfig)]);
  });
  const poolRows = sortProblematicFirst(pools).map((pool) => {
    const { name, machineCount, updatedMachineCount, specConfig, statusConfig } = pool;
    const counts = [String(machineCount), String(updatedMachineCount)];
    const texts = [...counts, toLabel(specConfig), toLabel(statusConfig)];
    return createRow('MachineConfigPool', [name, ...texts], getNote(pool, checkedAt));
  });
  return [formatObjects(format, NODE_HEADERS, nodeRows, 'node'), formatObjects(format, POOL_HEADERS, poolRows, 'pool')];
}

/** A table without rows is empty. Only `-o wide` prints each row of a large one. */
function formatObjects(format: ReportFormat, headers: readonly string[], rows: Rows, noun: string): string {
  if (rows.length === 0) return '';
  if (rows.length <= MAX_ROWS || format.isWide === true) return formatNarrowTable(format, headers, rows, DISPENSABLE);
  const groups = [...groupBy(rows, ([_name, ...others]) => JSON.stringify(others)).values()];
  const combined = groups.slice(0, MAX_ROWS).map((group) => {
    const names = group.map(([name = '']) => (typeof name === 'string' ? name : name.text));
    return [joinFirst(names, 1), ...(group[0]?.slice(1) ?? [])];
  });
  const table = formatNarrowTable(format, headers, combined, DISPENSABLE);
  return `${table}(-o wide lists each of the ${countNoun(rows.length, noun)})\n`;
}

function getNote(pool: CheckedPool, now: string): string {
  const { ok, paused, pausedSince, pausedFor, terminating, statusConfig, updating } = pool;
  if (terminating) return 'being deleted';
  if (paused && pausedFor === null) {
    return pausedSince === null ? 'paused' : `paused ${formatAge(Date.parse(now) - Date.parse(pausedSince))}`;
  }
  if (!ok || !updating) return '';
  return statusConfig === null ? 'first roll-out' : 'updating';
}

/** Two fields with the same cause are `both`. */
function summarizeCauses(causes: readonly Cause[]): string {
  const isBoth = causes.length === 2 && causes[0]?.code === causes[1]?.code;
  const summaries = causes.map((cause) => {
    return summarize(cause, isBoth ? 'both' : (cause.field ?? '').replace('Config', ''));
  });
  return [...new Set(summaries)].join(', ');
}

/** Objects with the same cause share a sentence. */
function formatCauses(format: ReportFormat, causes: readonly Cause[]): string {
  // The result says it.
  if (causes.every(({ code }) => code === 'TooFewNodes')) return '';
  // A cause that many objects share begins at another time for each.
  const groups = groupBy(causes, (cause) =>
    (explainCause(cause, '', false) + (cause.evidence ?? '')).replaceAll(TIMES, ''),
  ).values();
  const items = [...groupBy(groups, ([first]) => first?.code).values()].flatMap((ofCode) => {
    const more = ofCode.slice(MAX_GROUPS).flat().length;
    const rest = `${countNoun(more, 'more problem')} of this kind (--output json).`;
    const texts = ofCode.slice(0, MAX_GROUPS).map((group) => formatGroup(format, group));
    return more === 0 ? texts : [...texts, formatItem(format, rest)];
  });
  return items.join('\n');
}

function formatItem(format: ReportFormat, text: string, quotation = ''): string {
  const item = wrapBeside(`${applyStyle(format, 'red', '-')} `, text, format.width);
  const quoted = quotation === '' ? [] : wrapText(quotation, format.width - 4).map((line) => `  > ${line}`);
  return [item, ...quoted].join('\n');
}

function formatGroup(format: ReportFormat, causes: readonly Cause[]): string {
  const [first] = causes as [Cause];
  const referrers = causes.flatMap(({ referrer }) => referrer ?? []);
  const isPlural = new Set(referrers.map(({ kind, name }) => `${kind} ${name}`)).size > 1;
  const names = formatObjectNames(referrers);
  const texts = causes.map((cause) => explainCause(cause, names, isPlural)).toSorted();
  const [earliest = ''] = texts;
  const text = earliest === texts.at(-1) ? earliest : earliest.replaceAll(TIMES, '$& or later');
  // A name of a config stays as it is.
  const isName = first.config !== undefined && text.startsWith(formatName(first.config));
  return formatItem(format, isName ? text : text.charAt(0).toUpperCase() + text.slice(1), first.evidence);
}

function explainCause(cause: Cause, names: string, isPlural: boolean): string {
  const { sentence, more } = getRule(cause);
  const sentences = [sentence(cause, names, isPlural), cause.waiting.why, ...(more?.(cause) ?? [])];
  return `${sentences.filter(Boolean).join('. ')}.`;
}

function formatRepairs(format: ReportFormat, { repairs }: CheckReport): string {
  const lines = repairs.slice(0, MAX_REPAIRS).flatMap((repair) => formatCommand(format, repair, repair.alternative));
  const more = repairs.length > MAX_REPAIRS ? [`  # ${repairs.length - MAX_REPAIRS} more: --output json`] : [];
  return lines.length === 0 ? '' : ['What to do (not run):', ...lines, ...more].join('\n');
}

function formatWarnings(format: ReportFormat, causes: readonly Cause[]): string {
  const warnings = new Set(causes.map((cause) => getRule(cause).avoid?.(cause) ?? ''));
  const shown = [...warnings].filter(Boolean).slice(0, MAX_GROUPS);
  return shown.map((warning) => wrapParagraph(format, `${warning}.`)).join('\n');
}

function formatRequests(format: ReportFormat, { pendingCertificateRequests, checkedAt }: CheckReport): string {
  const { readable, reason, requests } = pendingCertificateRequests;
  if (!readable)
    return wrapBeside('- ', `Cannot list pending certificate requests of nodes (${reason}).`, format.width);
  const rows = requests.map(({ name, node, signer, createdAt }) => {
    const age = createdAt === null ? NONE : formatAge(Date.parse(checkedAt) - Date.parse(createdAt));
    return [name, age, signer.replace('kubernetes.io/', ''), node ?? NONE];
  });
  const table = formatTable(format, ['REQUEST', 'AGE', 'SIGNER', 'NODE'], rows);
  return rows.length === 0 ? '' : `Pending certificate requests of nodes:\n${table}`;
}

function formatConclusion({ report, causes }: ClusterCheck, hasWaited: boolean): string {
  const { ok, recoverable, nodes, pools, problems, waitedSeconds } = report;
  if (ok) {
    const objects = `${countNoun(nodes.length, 'node')} and ${countNoun(pools.length, 'pool')}`;
    const paused = pools.filter((pool) => pool.paused && pool.updating).map(({ name }) => name);
    const behind = paused.length === 0 ? '' : ` Paused, and so not updated: ${joinFirst(paused)}.`;
    const verb = nodes.length + pools.length > 1 ? 'reference' : 'references';
    return `Fine: every config that ${objects} ${verb} exists.${behind}`;
  }
  const counts = countProblems(report) || problems[0]?.message;
  const result = `Not fine: ${counts}.`;
  if (causes.every(({ code }) => code === 'PausedForRestore')) return result;
  if (!recoverable) return `${result} Waiting does not help.`;
  if (hasWaited) return `${result} Waited ${formatAge(waitedSeconds * 1_000)}.`;
  // A selection without nodes usually has a wrong label.
  return nodes.length === 0 ? result : `${result} Waiting can help (--wait).`;
}

function countProblems({ nodes, pools }: CheckReport): string {
  const counts = Object.entries({ node: nodes, pool: pools }).flatMap(([noun, objects]) => {
    const bad = objects.filter(({ ok }) => !ok);
    return bad.length === 0 ? [] : [`${bad.length} of ${countNoun(objects.length, noun)}`];
  });
  return counts.length === 0 ? '' : `problems with ${joinWithAnd(counts)}`;
}

function sortProblematicFirst<T extends { readonly ok: boolean }>(objects: readonly T[]): T[] {
  return objects.toSorted((a, b) => Number(a.ok) - Number(b.ok));
}
