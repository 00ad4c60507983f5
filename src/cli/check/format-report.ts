import { countNoun, joinWithAnd, toPrintableLine } from '../../decision/printable-text.ts';
import type { Repair } from '../../inspect/repairs.ts';
import type { CheckReportRequests, CheckReportProblem, CheckReport } from '../../inspect/check-report.ts';
import { createConfigLabels, LABEL_FORMS } from './config-labels.ts';
import { formatAge, formatElapsed } from '../elapsed.ts';
import { type Page, applyStyle, type Style, wrapText } from '../page.ts';
import { type Cell, type Column, measureTable, formatTable } from '../table.ts';

/** Where a report stands in a wait; absent without `--wait`. */
export type WaitOutcome = 'fine' | 'hopeless' | 'timeout';

/** As kubectl writes what is absent. */
const NONE = '<none>';
const NAMES_MAX = 3;
const REASONS_MAX = 10;
const REASON_MAX = 300;
const NAME_MAX = 253;
const NODE_MIN = 16;

/** The report of `check` for a person: tables, what is wrong, what the nodes say, what to do, and the verdict last. */
export function formatCheckReport(
  page: Page,
  report: CheckReport,
  repairs: readonly Repair[],
  end?: WaitOutcome,
): string {
  const parts = [
    ...tables(page, report),
    problemText(page, report.problems),
    reasonText(page, report),
    requestText(page, report.pendingCertificateRequests, new Date(report.checkedAt)),
    repairText(page, repairs),
    applyStyle(page, [verdictStyle(report), 'bold'], wrapText(verdict(report, end), page.width).join('\n')),
  ];
  return `${parts
    .filter((part) => part !== '')
    .map((part) => part.trimEnd())
    .join('\n\n')}\n`;
}

/** What holds a node or pool up, in as few words as a table has room for: `ok`, `current missing`, `status empty` … */
function shortVerdict(problems: readonly CheckReportProblem[]): string {
  const [first] = problems;
  if (first === undefined) return 'ok';
  if (first.code === 'NotReported' && first.field === null) return 'not reported';
  const words = problems.map(({ code, field }) => {
    const where = (field ?? '').replace('Config', '');
    if (code === 'ConfigMissing') return `${where} missing`;
    return code === 'NotReported' ? `no ${where} yet` : `${where} empty`;
  });
  return words.length === 2 && words.every((word) => word.endsWith(' missing')) ? 'both missing' : words.join(', ');
}

function tables(page: Page, { nodes, pools, problems }: CheckReport): string[] {
  const about = grouped(problems, ({ kind, name }) => `${kind} ${name}`);
  const configs = [
    ...nodes.flatMap(({ currentConfig, desiredConfig }) => [currentConfig, desiredConfig]),
    ...pools.flatMap(({ specConfig, statusConfig }) => [specConfig, statusConfig]),
  ].filter((config) => config !== null);
  // One form for both tables: the longest with which both fit.
  for (const form of LABEL_FORMS) {
    const label = createConfigLabels(configs, form);
    const shown = (config: string | null, problems: readonly CheckReportProblem[]): Cell => {
      const missing = config === null ? undefined : problems.find((problem) => problem.config === config);
      return { text: config === null ? NONE : label(config), style: missing && problemStyle([missing]) };
    };
    const nodeRows = notFineFirst(nodes).map((node) => {
      const own = about.get(`Node ${node.name}`) ?? [];
      return [
        { text: node.name },
        { text: node.pool ?? NONE },
        { text: node.state === '' ? NONE : toPrintableLine(node.state, 24), style: stateStyle(node.state) },
        shown(node.currentConfig, own),
        shown(node.desiredConfig, own),
        { text: shortVerdict(own), style: problemStyle(own) },
      ];
    });
    const poolRows = notFineFirst(pools).map((pool) => {
      const own = about.get(`MachineConfigPool ${pool.name}`) ?? [];
      const note = pool.terminating ? 'being deleted' : pool.paused && own.length === 0 ? 'ok, paused' : undefined;
      return [
        { text: pool.name },
        { text: String(pool.machineCount) },
        { text: String(pool.updatedMachineCount) },
        shown(pool.specConfig, own),
        shown(pool.statusConfig, own),
        { text: note ?? shortVerdict(own), style: problemStyle(own) },
      ];
    });
    const fits =
      measureTable(NODE_COLUMNS, nodeRows) <= page.width && measureTable(POOL_COLUMNS, poolRows) <= page.width;
    if (!fits && form !== LABEL_FORMS.at(-1)) continue;
    return [
      ...(nodes.length === 0 ? [] : [formatTable(page, NODE_COLUMNS, nodeRows)]),
      ...(pools.length === 0 ? [] : [formatTable(page, POOL_COLUMNS, poolRows)]),
    ];
  }
  return [];
}

const NODE_COLUMNS: readonly Column[] = [
  { head: 'NODE', min: NODE_MIN },
  { head: 'POOL', min: 6 },
  { head: 'STATE' },
  { head: 'CURRENT', min: 15 },
  { head: 'DESIRED', min: 15 },
  { head: 'CHECK' },
];

const POOL_COLUMNS: readonly Column[] = [
  { head: 'POOL', min: 6 },
  { head: 'MACHINES', right: true },
  { head: 'UPDATED', right: true },
  { head: 'SPEC', min: 15 },
  { head: 'STATUS', min: 15 },
  { head: 'CHECK' },
];

/** What is wrong, one paragraph for all that is wrong in the same way. */
function problemText(page: Page, problems: readonly CheckReportProblem[]): string {
  // Alone, it is what the verdict says.
  if (problems.every(({ code }) => code === 'TooFewNodes')) return '';
  const groups = grouped(
    problems,
    ({ code, config, canHeal, field }) =>
      `${code} ${canHeal} ${config} ${code === 'ConfigMissing' ? '' : String(field)}`,
  );
  return [...groups.values()].map((group) => item(page, explanation(group), problemStyle(group))).join('\n');
}

function explanation(group: readonly CheckReportProblem[]): string {
  const [first] = group;
  if (first === undefined) return '';
  const who = subjects(group);
  const many = new Set(group.map(({ name }) => name)).size > 1;
  switch (first.code) {
    case 'TooFewNodes':
      return `${capital(first.message)}.`;
    case 'NotReported': {
      const what = first.field === null ? 'a configuration' : `${many ? 'their' : 'its'} ${first.field}`;
      return `${capital(who)} ${many ? 'have' : 'has'} not reported ${what} yet.`;
    }
    case 'SpecEmpty':
      return `${capital(who)} ${many ? 'have' : 'has'} an empty spec.configuration.name: nothing has been rendered yet.`;
    case 'StatusEmpty':
      return `${capital(who)} ${many ? 'have' : 'has'} an empty status.configuration.name: machines that boot get HTTP 500 from the machine-config-server. The operator sets it once all machines of the pool run its config${first.canHeal ? '' : ', which those that name a missing config never do'}.`;
    case 'ConfigMissing': {
      const future = first.canHeal
        ? 'The Machine Config Operator can still render it.'
        : "No pool's spec names it, so waiting does not bring it back.";
      const hint = first.suggestion === null ? '' : ` Nearest existing name: ${first.suggestion}.`;
      const known =
        first.explanation === null
          ? ''
          : ` The guard says: ${toPrintableLine(first.explanation, REASON_MAX).replace(/\.$/, '')}.`;
      return `${toPrintableLine(first.config ?? '', NAME_MAX)} does not exist; ${who} ${many ? 'name' : 'names'} it. ${future}${hint}${known}`;
    }
    default:
      return first.code satisfies never;
  }
}

/** `nodes a, b and c`, with at most three names a kind; and the fields where they differ from object to object. */
function subjects(group: readonly CheckReportProblem[]): string {
  const kinds = [
    ['Node', 'node'],
    ['MachineConfigPool', 'pool'],
  ] as const;
  const texts = kinds.flatMap(([kind, noun]) => {
    const own = group.filter((problem) => problem.kind === kind);
    const names = [...new Set(own.map(({ name }) => name ?? ''))];
    if (names.length === 0) return [];
    const shown = names.slice(0, NAMES_MAX);
    const rest = names.length - shown.length;
    return `${noun}${names.length === 1 ? '' : 's'} ${joinWithAnd(rest === 0 ? shown : [...shown, `${rest} more`])}`;
  });
  return joinWithAnd(texts);
}

/** The daemons' own words. They decide nothing, and often say what the matter is. */
function reasonText(page: Page, { nodes }: CheckReport): string {
  const talking = notFineFirst(nodes).filter(({ reason }) => reason.trim() !== '');
  if (talking.length === 0) return '';
  const items = talking
    .slice(0, REASONS_MAX)
    .map(({ name, reason }) => item(page, `${name}: ${toPrintableLine(reason, REASON_MAX)}`));
  const rest = talking.length - items.length;
  if (rest > 0) items.push(item(page, `and ${rest} more (see --output json)`));
  return `What the nodes say of their state:\n${items.join('\n')}`;
}

function requestText(page: Page, { readable, reason, requests }: CheckReportRequests, now: Date): string {
  if (!readable) {
    return item(page, `Pending certificate requests of nodes are not shown: they could not be read (${reason}).`);
  }
  if (requests.length === 0) return '';
  const rows = requests.map(({ name, node, signer, createdAt }) => [
    { text: name },
    { text: createdAt === null ? NONE : formatAge(now.getTime() - new Date(createdAt).getTime()) },
    { text: signer.replace('kubernetes.io/', '') },
    { text: node === null ? NONE : toPrintableLine(node, NAME_MAX) },
  ]);
  const columns = [{ head: 'REQUEST', min: 12 }, { head: 'AGE' }, { head: 'SIGNER' }, { head: 'NODE', min: NODE_MIN }];
  return `Certificate requests of nodes that nobody has approved yet:\n${formatTable(page, columns, rows)}`;
}

function repairText(page: Page, repairs: readonly Repair[]): string {
  if (repairs.length === 0) return '';
  const commands = repairs.map(({ description, command }) => {
    const lines = command.map((words) => words.join(' '));
    return `  ${applyStyle(page, 'dim', `# ${description}`)}\n  ${lines.join(' \\\n    ')}`;
  });
  return `To repair it by hand. Nothing of this has been run:\n${commands.join('\n')}`;
}

function verdict(
  { ok, canHeal, nodes, pools, problems, waitedSeconds }: CheckReport,
  end: WaitOutcome | undefined,
): string {
  if (ok) {
    const many = nodes.length + pools.length > 1;
    return `Fine: every config that ${countNoun(nodes.length, 'node')} and ${countNoun(pools.length, 'pool')} ${many ? 'name' : 'names'} exists.`;
  }
  const what = joinWithAnd([...notFine(nodes, 'node'), ...notFine(pools, 'pool')]);
  const not = `Not fine: ${what === '' ? problems[0]?.message : what}.`;
  if (!canHeal) return `${not} Waiting does not heal this.`;
  if (end === 'timeout') return `${not} Still so after ${formatElapsed(waitedSeconds * 1_000)}.`;
  return `${not} Waiting may heal this (--wait).`;
}

function notFine(all: readonly { readonly ok: boolean }[], noun: string): string[] {
  const count = all.filter((one) => !one.ok).length;
  return count === 0 ? [] : [`${count} of ${countNoun(all.length, noun)}`];
}

function verdictStyle({ ok, canHeal }: CheckReport): 'green' | 'yellow' | 'red' {
  return ok ? 'green' : canHeal ? 'yellow' : 'red';
}

function problemStyle(problems: readonly CheckReportProblem[]): Style | undefined {
  if (problems.length === 0) return undefined;
  return problems.every(({ canHeal }) => canHeal) ? 'yellow' : 'red';
}

function stateStyle(state: string): Style | undefined {
  return state === 'Degraded' || state === 'Unreconcilable' ? 'red' : undefined;
}

function item(page: Page, text: string, style?: Style): string {
  const [first = '', ...rest] = wrapText(text, page.width - 2);
  return [`${applyStyle(page, style, '-')} ${first}`, ...rest.map((line) => `  ${line}`)].join('\n');
}

function notFineFirst<T extends { readonly ok: boolean }>(objects: readonly T[]): T[] {
  return [...objects.filter(({ ok }) => !ok), ...objects.filter(({ ok }) => ok)];
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
