import type { Environment } from '../../bench/environment.ts';
import type { Answer } from '../support/answer.ts';
import type { Fault } from './fault.ts';
import type { AnswerCounts, FaultResult } from './run-fault.ts';

const HEADINGS = [
  'fault',
  'deletion of a config in use',
  'of an unused config',
  'slowest answer, s',
  'recovery, s',
  'index, s',
  'what an administrator sees',
];

const WORDS: Readonly<Record<Answer, string>> = {
  'in use': '`MCG_IN_USE`',
  unverified: '`MCG_UNVERIFIED`',
  allowed: 'allowed',
  'guard unreachable': 'denied: guard unreachable',
  'no answer': 'no answer',
  unexpected: 'unexpected',
};

/** One fault and its result. */
export interface Row {
  readonly fault: Fault;
  readonly result: FaultResult;
}

/** The table, and a sentence about the origin of its figures. Markdown. */
export function formatTable(rows: readonly Row[], environment: Environment): string {
  const deletions = rows.reduce((sum, { result }) => sum + result.probeCount, 0);
  const wronglyAllowed = rows.reduce((sum, { result }) => sum + result.wronglyAllowed, 0);
  return [
    formatOrigin('npm run chaos', environment, `${deletions} deletions, ${wronglyAllowed} wrongly allowed`),
    '',
    `| ${HEADINGS.join(' | ')} |`,
    '|---|---|---|---:|---:|---:|---|',
    ...rows.map(formatRow),
  ].join('\n');
}

/**
 * Replaces the table of a page that a command writes.
 *
 * @throws Error if the page has none
 */
export function replaceTable(page: string, command: string, table: string): string {
  const [begin, end] = ['begin', 'end'].map((word) => `<!-- written by ${command}: ${word} -->`);
  const [before, rest] = page.split(`${begin}`);
  const after = rest?.split(`${end}`)[1];
  if (before === undefined || after === undefined) {
    throw new Error(`The page has no lines "${begin}" and "${end}".`);
  }
  return `${before}${begin}\n\n${table}\n\n${end}${after}`;
}

/** A sentence about the origin of a table. Markdown. */
export function formatOrigin(command: string, environment: Environment, result: string): string {
  const { date, commit, kubernetes, node, cores, cpu, load } = environment;
  return (
    `\`${command}\`, ${date.slice(0, 10)}, commit ${commit}: Kubernetes ${kubernetes}, Node ${node}, ` +
    `${cores} cores (${cpu}), load before ${load}; ${result}.`
  );
}

function formatRow({ fault, result }: Row): string {
  const { during, slowestSeconds, recoverySeconds, indexSeconds } = result;
  const cells = [
    fault.title,
    formatCounts(during.used, during.moved),
    formatCounts(during.unused),
    slowestSeconds?.toFixed(1) ?? '',
    recoverySeconds === undefined ? 'not needed' : recoverySeconds.toFixed(1),
    indexSeconds.toFixed(1),
    fault.seen,
  ];
  return `| ${cells.join(' | ')} |`;
}

/** The most frequent answer first. Markdown. */
export function formatCounts(...several: readonly AnswerCounts[]): string {
  const sums = new Map<Answer, number>();
  for (const [answer, count] of several.flatMap((counts) => Object.entries(counts) as [Answer, number][])) {
    sums.set(answer, (sums.get(answer) ?? 0) + count);
  }
  const sorted = [...sums].sort(([, a], [, b]) => b - a);
  return sorted.map(([answer, count]) => `${count} × ${WORDS[answer]}`).join(', ');
}
