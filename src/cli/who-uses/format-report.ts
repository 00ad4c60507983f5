import { countNoun, joinWithAnd, toPrintableLine } from '../../decision/printable-text.ts';
import { formatAge } from '../elapsed.ts';
import { type Page, applyStyle, wrapText } from '../page.ts';
import { formatTable } from '../table.ts';
import type {
  ReferencesReportConfig,
  UnusedReport,
  ReferencesReportEntry,
  ReferencesReport,
} from '../../inspect/references-report.ts';

const NAME_MAX = 253;
const KIB = 1024;

/** What a list of unused configs does not say. */
export const POINT_IN_TIME_NOTICE =
  'This is true at this moment only. What keeps a config that is in use from being deleted is the guard, not this list.';

/** The report of `who-uses CONFIG…` for a person. */
export function formatReferencesReport(page: Page, { configs, unreportedNodes }: ReferencesReport): string {
  const parts = configs.map((config) => onePart(page, config));
  if (unreportedNodes > 0) parts.push(prose(page, unreported(unreportedNodes, 'and may use any config.')));
  return `${parts.join('\n\n')}\n`;
}

/** One line a user: `node/worker-0`, as `kubectl get -o name` has it, for xargs. What only mentions a config is left out. */
export function formatReferrerNames({ configs }: ReferencesReport): string {
  const users = configs.flatMap(({ usedBy }) => usedBy.filter(({ strength }) => strength === 'hard'));
  return lines([...new Set(users.map(({ kind, name }) => `${kind.toLowerCase()}/${name}`))]);
}

/** The report of `--unused` for a person. */
export function formatUnusedReport(page: Page, { unused, totalBytes, unreportedNodes, readAt }: UnusedReport): string {
  if (unused.length === 0) return 'Every rendered config is in use.\n';
  const now = new Date(readAt).getTime();
  const mentioned = unused.some(({ mentionedBy }) => mentionedBy.length > 0);
  const columns = [
    { head: 'NAME' },
    { head: 'POOL', min: 6 },
    { head: 'AGE', right: true },
    { head: 'SIZE', right: true },
    ...(mentioned ? [{ head: 'NOTES', right: true }] : []),
  ];
  const rows = unused.map((config) => [
    { text: toPrintableLine(config.name, NAME_MAX) },
    { text: config.pool ?? '<none>' },
    { text: formatAge(now - new Date(config.createdAt).getTime()) },
    { text: size(config.sizeBytes) },
    ...(mentioned ? [{ text: config.mentionedBy.length === 0 ? '' : String(config.mentionedBy.length) }] : []),
  ]);
  const summary = [
    `${countNoun(unused.length, 'rendered config')} that nothing uses, ${size(totalBytes)} in all.`,
    POINT_IN_TIME_NOTICE,
    mentioned ? 'Notes: places that mention a config without keeping it; who-uses NAME shows them.' : '',
    unreportedNodes === 0 ? '' : unreported(unreportedNodes, 'and may need one of them.'),
  ];
  return `${formatTable(page, columns, rows)}\n${summary
    .filter((sentence) => sentence !== '')
    .map((sentence) => `${prose(page, sentence)}\n`)
    .join('')}`;
}

/** One name a line, for xargs. */
export function formatUnusedNames({ unused }: UnusedReport): string {
  return lines(unused.map(({ name }) => name));
}

/** Bytes in the unit of which there is at least one. */
function size(bytes: number): string {
  if (bytes < KIB) return `${bytes} B`;
  if (bytes < KIB * KIB) return `${Math.round(bytes / KIB)} KiB`;
  return `${(bytes / KIB / KIB).toFixed(1)} MiB`;
}

function onePart(page: Page, config: ReferencesReportConfig): string {
  const hard = config.usedBy.filter(({ strength }) => strength === 'hard');
  const notes = config.usedBy.filter(({ strength }) => strength === 'note');
  const name = toPrintableLine(config.name, NAME_MAX);
  const sentences = [
    ...(config.exists
      ? [hard.length > 0 ? `${name} is in use by ${joinWithAnd(kinds(hard))}.` : `${name} is not in use.`]
      : [
          `${name} is not in the API.`,
          hard.length > 0 ? `It is named all the same, by ${joinWithAnd(kinds(hard))}.` : 'Nothing uses it.',
        ]),
    notes.length > 0 ? `Mentioned without keeping it by ${joinWithAnd(kinds(notes))}.` : '',
    config.suggestion === null ? '' : `Nearest existing name: ${config.suggestion}.`,
    config.exists && !config.rendered
      ? 'It is no rendered config: the guard does not protect it, and who merges it is not looked at.'
      : '',
  ];
  const style = hard.length > 0 && !config.exists ? 'red' : undefined;
  const head = applyStyle(page, style, prose(page, sentences.filter((sentence) => sentence !== '').join(' ')));
  return config.usedBy.length === 0 ? head : `${head}\n${usersTable(page, config.usedBy)}`.trimEnd();
}

function usersTable(page: Page, usedBy: readonly ReferencesReportEntry[]): string {
  // One line an object and strength: its fields together.
  const rows = new Map<string, ReferencesReportEntry & { fields: string[] }>();
  for (const use of usedBy) {
    const key = `${use.kind} ${use.name} ${use.strength}`;
    const row = rows.get(key);
    if (row === undefined) rows.set(key, { ...use, fields: [use.field] });
    else row.fields.push(use.field);
  }
  const columns = [{ head: 'KIND' }, { head: 'NAME', min: 16 }, { head: 'FIELD' }, { head: 'STRENGTH' }];
  const cells = [...rows.values()].map(({ kind, name, fields, strength }) =>
    [kind, name, fields.join(', '), strength].map((text) => ({ text })),
  );
  return formatTable(page, columns, cells);
}

/** `3 nodes and 1 pool`. */
function kinds(users: readonly ReferencesReportEntry[]): string[] {
  const nouns = { Node: 'node', MachineConfigPool: 'pool', MachineOSBuild: 'build' } as const;
  return (Object.keys(nouns) as (keyof typeof nouns)[]).flatMap((kind) => {
    const count = new Set(users.filter((user) => user.kind === kind).map(({ name }) => name)).size;
    return count === 0 ? [] : [countNoun(count, nouns[kind])];
  });
}

function unreported(nodes: number, consequence: string): string {
  return `${countNoun(nodes, 'node')} ${nodes === 1 ? 'has' : 'have'} not reported a configuration yet ${consequence}`;
}

function prose(page: Page, text: string): string {
  return wrapText(text, page.width).join('\n');
}

function lines(names: readonly string[]): string {
  return names.map((name) => `${name}\n`).join('');
}
