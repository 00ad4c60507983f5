import { stripVTControlCharacters } from 'node:util';
import { groupBy } from '../../common/group-by.ts';
import { countNoun, joinFirst, joinWithAnd, toPrintableLine } from '../../common/printable-text.ts';
import { formatAge, formatObjectNames, formatResourceName, formatShortName } from '../../client/output/short-forms.ts';
import { type Cell, formatTable, NONE } from '../../client/output/table.ts';
import {
  applyStyle,
  formatCommand,
  type ReportFormat,
  wrapBeside,
  wrapParagraph,
  wrapText,
} from '../../client/output/text-format.ts';
import type { CheckReport } from './check-cluster.ts';
import type { CheckedPool } from '../../diagnosis/diagnose.ts';
import type { Problem } from '../../diagnosis/problem.ts';
import { RULES } from '../../diagnosis/rules.ts';
import { ALLOW_DELETION_ANNOTATION } from '../../api/annotations.ts';

const MAX_NAMED_NODES = 3;
const MAX_REASONS = 10;
const MAX_REASON_LENGTH = 300;
const MAX_STATE_LENGTH = 24;
const MAX_PROGRESS_MESSAGES = 5;
const MAX_PROGRESS_LENGTH = 800;

const NODE_HEADERS = ['NODE', 'POOL', 'STATE', 'CURRENT', 'DESIRED', 'CHECK'];
const POOL_HEADERS = ['POOL', 'MACHINES', 'UPDATED', 'SPEC', 'STATUS', 'CHECK'];

export function formatCheckReport(format: ReportFormat, report: CheckReport, hasWaited = false): string {
  const { ok, skippedNodes, overriddenConfigs } = report;
  const list = (text: string, names: readonly string[]): string =>
    names.length === 0 ? '' : wrapParagraph(format, `${text}: ${joinFirst(names, MAX_NAMED_NODES)}.`);
  const repairs = report.repairs.flatMap((repair) => formatCommand(format, repair, repair.alternative));
  const conclusion = wrapParagraph(format, formatConclusion(report, hasWaited));
  const parts = [
    ...formatTables(format, report),
    list('Skipped nodes that the Machine Config Operator does not manage', skippedNodes),
    formatProblems(format, report),
    list(`In use, but the annotation ${ALLOW_DELETION_ANNOTATION} lets any client delete them`, overriddenConfigs),
    formatReasons(format, report),
    formatRequests(format, report),
    repairs.length === 0 ? '' : ['Repair commands (not run):', ...repairs].join('\n'),
    applyStyle(format, ok ? 'bold' : ['red', 'bold'], conclusion),
  ];
  const visibleParts = parts.filter(Boolean).map((part) => part.trimEnd());
  return `${visibleParts.join('\n\n')}\n`;
}

export function formatProblemNames({ problems }: CheckReport): string {
  const names = problems.flatMap(({ kind, name }) =>
    kind === null ? [] : `${formatResourceName(kind, String(name))}\n`,
  );
  return [...new Set(names)].join('');
}

export function formatProgress(report: CheckReport): string {
  const requests = report.pendingCertificateRequests.requests.map(({ name }) => `certificate request ${name}: pending`);
  const messages = [...report.problems.map(({ message }) => message), ...requests];
  const text = [countProblems(report), joinFirst(messages, MAX_PROGRESS_MESSAGES)].filter(Boolean).join(': ');
  return toPrintableLine(text, MAX_PROGRESS_LENGTH);
}

type Rows = readonly (readonly Cell[])[];

/** The columns that a narrow terminal loses first. The last column is `CHECK`. */
const DISPENSABLE = ['DESIRED', 'STATUS', 'CURRENT', 'SPEC', 'STATE', 'UPDATED'];

function formatTables(format: ReportFormat, { nodes, pools, problems, checkedAt }: CheckReport): string[] {
  const toLabel = (config: string | null): string => (config === null ? NONE : formatShortName(format, config));
  const problemsByObject = groupBy(problems, ({ kind, name }) => `${kind} ${name}`);
  const createRow = (kind: string, texts: readonly [string, ...string[]], note = ''): Cell[] => {
    const own = problemsByObject.get(`${kind} ${texts[0]}`) ?? [];
    const state = summarizeProblems(own) || 'ok';
    return [
      ...texts.map((text) => ({ text })),
      { text: note === '' ? state : `${state}, ${note}`, style: own.length === 0 ? undefined : 'red' },
    ];
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
  return [
    nodes.length === 0 ? '' : formatNarrowTable(format, NODE_HEADERS, nodeRows),
    pools.length === 0 ? '' : formatNarrowTable(format, POOL_HEADERS, poolRows),
  ];
}

function formatNarrowTable(format: ReportFormat, headers: readonly string[], rows: Rows): string {
  const { columns = Number.POSITIVE_INFINITY, isWide } = format;
  for (let count = 0; ; count += 1) {
    const dropped = new Set(DISPENSABLE.slice(0, count));
    const isKept = (_cell: unknown, index: number): boolean => !dropped.has(headers[index] ?? '');
    const keptRows = rows.map((row) => row.filter(isKept));
    const text = formatTable(format, headers.filter(isKept), keptRows);
    const fits = text.split('\n').every((line) => stripVTControlCharacters(line).length <= columns);
    if (fits || isWide === true || count === DISPENSABLE.length) return text;
  }
}

function getNote({ ok, paused, pausedSince, pausedFor, terminating, statusConfig }: CheckedPool, now: string): string {
  if (terminating) return 'being deleted';
  if (paused && pausedFor === null) {
    return pausedSince === null ? 'paused' : `paused ${formatAge(Date.parse(now) - Date.parse(pausedSince))}`;
  }
  return ok && statusConfig === null ? 'first roll-out' : '';
}

function summarizeProblems(problems: readonly Problem[]): string {
  const [first, second, third] = problems.map(({ code }) => code);
  if (first !== undefined && first === second && third === undefined) return RULES[first].summary('both');
  const summaries = problems.map(({ code, field }) => RULES[code].summary((field ?? '').replace('Config', '')));
  return summaries.join(', ');
}

function formatProblems(format: ReportFormat, { problems }: CheckReport): string {
  if (problems.every(({ code }) => code === 'TooFewNodes')) return '';
  const groups = groupBy(problems, ({ code, config, recoverable, field }) =>
    [code, recoverable, config, config === null ? field : ''].join(' '),
  );
  return [...groups.values()]
    .map((group) => wrapBeside(`${applyStyle(format, 'red', '-')} `, explainProblems(group), format.width))
    .join('\n');
}

function explainProblems(problems: readonly Problem[]): string {
  const [first] = problems as [Problem];
  const names = formatObjectNames(problems);
  const isPlural = new Set(problems.map(({ name }) => name)).size > 1;
  const { sentence, more } = RULES[first.code];
  const sentences = [sentence(first, names, isPlural), first.recoverableReason, ...(more?.(first) ?? [])];
  const text = sentences.filter(Boolean).join('. ');
  return `${text.startsWith(names) ? text.charAt(0).toUpperCase() + text.slice(1) : text}.`;
}

function formatReasons({ width }: ReportFormat, { nodes }: CheckReport): string {
  const nodesWithReason = sortProblematicFirst(nodes).filter(({ reason }) => reason.trim() !== '');
  const groups = [...groupBy(nodesWithReason, ({ reason }) => reason)];
  const lines = groups.slice(0, MAX_REASONS).flatMap(([reason, own]) => {
    const quotation = wrapText(toPrintableLine(reason, MAX_REASON_LENGTH), width - 4);
    const names = own.map(({ name }) => toPrintableLine(name, MAX_REASON_LENGTH));
    return [`- ${joinFirst(names, MAX_NAMED_NODES)}:`, quotation.map((line) => `  > ${line}`).join('\n')];
  });
  return groups.length === 0 ? '' : ['State reported by the nodes:', ...lines].join('\n');
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

function formatConclusion(report: CheckReport, hasWaited: boolean): string {
  const { ok, recoverable, nodes, pools, problems, waitedSeconds } = report;
  if (ok) {
    const objects = `${countNoun(nodes.length, 'node')} and ${countNoun(pools.length, 'pool')}`;
    return `Fine: every config that ${objects} ${nodes.length + pools.length > 1 ? 'reference' : 'references'} exists.`;
  }
  const counts = countProblems(report) || problems[0]?.message;
  const haveAll =
    problems.every(({ config }) => config === null) && problems.some(({ code }) => code.endsWith('Degraded'));
  const result = `Not fine: ${counts}.${haveAll ? ' Every config that they reference exists.' : ''}`;
  if (problems.every(({ code }) => code === 'PausedForRestore')) return result;
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
