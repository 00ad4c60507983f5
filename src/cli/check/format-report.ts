import { formatName, formatTime } from '../../decision/message.ts';
import { countNoun, joinFirst, joinWithAnd, toPrintableLine } from '../../common/printable-text.ts';
import type { ReferrerKind } from '../../decision/references.ts';
import type { PendingCertificateRequests } from '../../client/certificate-requests.ts';
import { advise } from '../../client/output/advice.ts';
import type { CheckReport } from './check-cluster.ts';
import { type Problem, PROBLEM_TEXTS } from './problems.ts';
import type { Repair } from './repairs.ts';
import { formatAge } from '../../client/output/format-age.ts';
import { type Cell, formatTable } from '../../client/output/table.ts';
import {
  applyStyle,
  formatCommand,
  formatNext,
  type ReportFormat,
  type Style,
  type TableFormat,
  type TextFormat,
  wrapParagraph,
  wrapText,
} from '../../client/output/text-format.ts';
import { formatObjectNames } from '../../client/output/format-object-names.ts';
import { createNameShortener } from '../../client/output/name-shortener.ts';

type Problems = readonly Problem[];

const NONE = '<none>';
const LIST_UNUSED = advise('list all with', ['machineconfig-guard', 'who-uses', '--unused']);
const MAX_SKIPPED_NODES = 3;
const MAX_HELD_POOLS = 5;
const MAX_REASONS = 10;
const MAX_REASON_LENGTH = 300;
const MAX_PROGRESS_MESSAGES = 5;
const MAX_PROGRESS_LENGTH = 800;

const NODE_COLUMNS = ['NODE', 'POOL', 'STATE', 'CURRENT', 'DESIRED', 'CHECK'].map((header) => ({ header }));
const POOL_COLUMNS = [
  { header: 'POOL' },
  { header: 'MACHINES', isRightAligned: true },
  { header: 'UPDATED', isRightAligned: true },
  ...['SPEC', 'STATUS', 'CHECK'].map((header) => ({ header })),
];

export function formatCheckReport(format: ReportFormat, report: CheckReport, hasWaited = false): string {
  const conclusion = wrapParagraph(format, formatConclusion(report, hasWaited));
  const parts = [
    ...formatTables(format, report),
    formatSkippedNodes(format, report.skippedNodes),
    formatHolds(format, report),
    formatProblems(format, report.problems),
    formatReasons(format, report),
    formatRequests(format, report.pendingCertificateRequests, new Date(report.checkedAt)),
    formatRepairs(format, report.repairs),
    applyStyle(format, getConclusionStyle(report), conclusion),
  ];
  const visibleParts = parts.filter(Boolean).map((part) => part.trimEnd());
  return `${visibleParts.join('\n\n')}\n`;
}

function getConclusionStyle({ ok, recoverable }: CheckReport): Style {
  return ok ? 'bold' : [recoverable ? 'magenta' : 'red', 'bold'];
}

/** Like `kubectl get -o name`: `node/worker-0`. */
export function formatProblemNames({ problems }: CheckReport): string {
  const names = problems.flatMap(({ kind, name }) => (kind === null ? [] : `${kind.toLowerCase()}/${name}\n`));
  return [...new Set(names)].join('');
}

/** The problems in one line. */
export function formatProgress(report: CheckReport): string {
  const { problems, pendingCertificateRequests } = report;
  const requests = pendingCertificateRequests.requests.map(({ name }) => `certificate request ${name}: pending`);
  const messages = joinFirst([...problems.map(({ message }) => message), ...requests], MAX_PROGRESS_MESSAGES);
  const counts = countProblems(report);
  return toPrintableLine(counts === '' ? messages : `problems with ${counts}: ${messages}`, MAX_PROGRESS_LENGTH);
}

function formatTables(format: TableFormat, report: CheckReport): string[] {
  const configs = [
    ...report.nodes.flatMap(({ currentConfig, desiredConfig }) => [currentConfig, desiredConfig]),
    ...report.pools.flatMap(({ specConfig, statusConfig }) => [specConfig, statusConfig]),
  ].filter((config) => config !== null);
  const shorten = createNameShortener(format, configs);
  return [
    report.nodes.length === 0 ? '' : formatTable(format, NODE_COLUMNS, createNodeRows(report, shorten)),
    report.pools.length === 0 ? '' : formatTable(format, POOL_COLUMNS, createPoolRows(report, shorten)),
  ];
}

type Label = (name: string) => string;

function createNodeRows({ nodes, problems }: CheckReport, shortenConfig: Label): Cell[][] {
  const findProblems = groupProblems(problems, 'Node');
  return sortProblematicFirst(nodes).map((node) => {
    const own = findProblems(node.name);
    const isFailed = node.state === 'Degraded' || node.state === 'Unreconcilable';
    return [
      { text: node.name },
      { text: node.pool ?? NONE },
      { text: node.state === '' ? NONE : toPrintableLine(node.state, 24), style: isFailed ? 'red' : undefined },
      createConfigCell(node.currentConfig, own, shortenConfig),
      createConfigCell(node.desiredConfig, own, shortenConfig),
      { text: summarizeProblems(own), style: getStyle(own) },
    ];
  });
}

function createPoolRows({ pools, problems }: CheckReport, shortenConfig: Label): Cell[][] {
  const findProblems = groupProblems(problems, 'MachineConfigPool');
  return sortProblematicFirst(pools).map((pool) => {
    const own = findProblems(pool.name);
    const isFirstRollout = pool.specConfig !== null && pool.statusConfig === null;
    const note = pool.paused ? ', paused' : isFirstRollout ? ', first roll-out' : '';
    const summary = own.length === 0 ? `ok${note}` : summarizeProblems(own);
    return [
      { text: pool.name },
      { text: String(pool.machineCount) },
      { text: String(pool.updatedMachineCount) },
      createConfigCell(pool.specConfig, own, shortenConfig),
      createConfigCell(pool.statusConfig, own, shortenConfig),
      { text: pool.terminating ? 'being deleted' : summary, style: getStyle(own) },
    ];
  });
}

function groupProblems(problems: Problems, kind: ReferrerKind): (name: string) => Problems {
  const groups = groupBy(
    problems.filter((problem) => problem.kind === kind),
    ({ name }) => name ?? '',
  );
  return (name) => groups.get(name) ?? [];
}

function createConfigCell(config: string | null, own: Problems, shortenConfig: Label): Cell {
  if (config === null) return { text: NONE };
  const style = getStyle(own.filter((problem) => problem.config === config));
  return { text: shortenConfig(config), style };
}

function summarizeProblems(problems: Problems): string {
  const [first] = problems;
  if (first === undefined) return 'ok';
  const summaries = problems.map(({ code, field }) => {
    return PROBLEM_TEXTS[code].summary((field ?? '').replace('Config', ''));
  });
  if (summaries.length === 2 && problems.every(({ code, field }) => code === first.code && field !== null)) {
    const [, rest = ''] = summaries[0]?.split(/^\w+ /) ?? [];
    return `both ${rest}`;
  }
  return summaries.join(', ');
}

function formatSkippedNodes(format: TextFormat, names: readonly string[]): string {
  if (names.length === 0) return '';
  const shown = joinFirst(names, MAX_SKIPPED_NODES);
  return wrapParagraph(format, `Skipped nodes that the Machine Config Operator does not manage: ${shown}.`);
}

function formatHolds(format: ReportFormat, { pools }: CheckReport): string {
  const held = pools.filter(({ heldUntil }) => heldUntil !== null);
  const last = held
    .map(({ heldUntil }) => heldUntil ?? '')
    .toSorted()
    .at(-1);
  if (last === undefined) return '';
  const names = joinFirst(
    held.map(({ name }) => name),
    MAX_HELD_POOLS,
  );
  const subjects = `${held.length === 1 ? 'pool' : 'pools'} ${names}`;
  const sentence = `The guard holds unused configs of ${subjects}, until ${formatTime(new Date(last))} at the latest.`;
  return [wrapParagraph(format, sentence), ...formatNext(format, LIST_UNUSED)].join('\n');
}

function formatProblems(format: TextFormat, problems: Problems): string {
  // The conclusion contains this problem.
  if (problems.every(({ code }) => code === 'TooFewNodes')) return '';
  const groups = groupBy(problems, ({ code, config, recoverable, field }) =>
    [code, recoverable, config, config === null ? field : ''].join(' '),
  );
  return [...groups.values()].map((group) => formatItem(format, explainProblems(group), getStyle(group))).join('\n');
}

function explainProblems(group: Problems): string {
  const [first] = group;
  if (first === undefined) return '';
  const isPlural = new Set(group.map(({ name }) => name)).size > 1;
  const subject = { names: capitalize(formatObjectNames(group)), isPlural };
  return PROBLEM_TEXTS[first.code].sentences(first, subject).filter(Boolean).join(' ');
}

/** A node's reason annotation does not affect the result, but often explains a problem. */
function formatReasons(format: TextFormat, { nodes }: CheckReport): string {
  const nodesWithReason = sortProblematicFirst(nodes).filter(({ reason }) => reason.trim() !== '');
  if (nodesWithReason.length === 0) return '';
  const items = nodesWithReason
    .slice(0, MAX_REASONS)
    .map(({ name, reason }) => formatItem(format, `${name}: "${toPrintableLine(reason, MAX_REASON_LENGTH)}"`));
  const more = nodesWithReason.length - items.length;
  if (more > 0) items.push(formatItem(format, `and ${more} more (see --output json)`));
  return `State reported by the nodes:\n${items.join('\n')}`;
}

function formatRequests(
  format: TextFormat,
  { readable, reason, requests }: PendingCertificateRequests,
  now: Date,
): string {
  if (!readable) {
    return formatItem(format, `Cannot list pending certificate requests of nodes (${reason}).`);
  }
  if (requests.length === 0) return '';
  const rows = requests.map(({ name, node, signer, createdAt }) => [
    { text: name },
    { text: createdAt === null ? NONE : formatAge(now.getTime() - new Date(createdAt).getTime()) },
    { text: signer.replace('kubernetes.io/', '') },
    { text: node === null ? NONE : formatName(node) },
  ]);
  const columns = ['REQUEST', 'AGE', 'SIGNER', 'NODE'].map((header) => ({ header }));
  return `Pending certificate requests of nodes:\n${formatTable(format, columns, rows)}`;
}

function formatRepairs(format: ReportFormat, repairs: readonly Repair[]): string {
  if (repairs.length === 0) return '';
  const lines = repairs.flatMap((repair) => formatCommand(format, repair, repair.alternative));
  return `Repair commands (not run):\n${lines.join('\n')}`;
}

function formatConclusion(report: CheckReport, hasWaited: boolean): string {
  const { ok, recoverable, nodes, pools, problems, waitedSeconds } = report;
  if (ok) {
    const objects = `${countNoun(nodes.length, 'node')} and ${countNoun(pools.length, 'pool')}`;
    return `Fine: every config that ${objects} ${nodes.length + pools.length > 1 ? 'reference' : 'references'} exists.`;
  }
  const counts = countProblems(report);
  const result = `Not fine: ${counts === '' ? problems[0]?.message : `problems with ${counts}`}.`;
  if (problems.every(({ code }) => code === 'PausedForRestore')) return result;
  if (!recoverable) return `${result} Waiting does not help.`;
  if (hasWaited) return `${result} Waited ${formatAge(waitedSeconds * 1_000)}.`;
  // A selection without nodes usually has a wrong label.
  return nodes.length === 0 ? result : `${result} Waiting can help (--wait).`;
}

function countProblems({ nodes, pools }: CheckReport): string {
  return joinWithAnd([...countProblematic(nodes, 'node'), ...countProblematic(pools, 'pool')]);
}

function countProblematic(objects: readonly { readonly ok: boolean }[], noun: string): string[] {
  const count = objects.filter(({ ok }) => !ok).length;
  return count === 0 ? [] : [`${count} of ${countNoun(objects.length, noun)}`];
}

function getStyle(problems: Problems): Style | undefined {
  if (problems.length === 0) return undefined;
  return problems.every(({ recoverable }) => recoverable) ? 'magenta' : 'red';
}

function formatItem(format: TextFormat, text: string, style?: Style): string {
  const [first = '', ...others] = wrapText(text, format.width - 2);
  return [`${applyStyle(format, style, '-')} ${first}`, ...others.map((line) => `  ${line}`)].join('\n');
}

function sortProblematicFirst<T extends { readonly ok: boolean }>(objects: readonly T[]): T[] {
  return objects.toSorted((a, b) => Number(a.ok) - Number(b.ok));
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function groupBy<T>(items: readonly T[], getKey: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = getKey(item);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return groups;
}
