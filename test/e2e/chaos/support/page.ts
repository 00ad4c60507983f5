import type { Environment } from '../../../bench/environment.ts';
import type { Answer } from './answer.ts';
import type { Fault } from './fault.ts';
import type { Counts, Ordeal } from './ordeal.ts';

const BEGIN = '<!-- written by npm run chaos: begin -->';
const END = '<!-- written by npm run chaos: end -->';

const WORDS: Readonly<Record<Answer, string>> = {
  'in use': '`MCG_IN_USE`',
  unverified: '`MCG_UNVERIFIED`',
  'let go': 'let go',
  'guard not reached': 'refused: guard not reached',
  'no answer': 'no answer',
  unexpected: 'unexpected',
};

/** One fault and what came of it. */
export interface Row {
  readonly fault: Fault;
  readonly ordeal: Ordeal;
}

/** The rows of a page's table, cell by cell. */
export function rowsIn(page: string): readonly { readonly cells: readonly string[] }[] {
  const table = page.slice(page.indexOf(BEGIN), page.indexOf(END));
  return table
    .split('\n')
    .filter((line) => line.startsWith('| ['))
    .map((line) => ({ cells: line.slice(2, -2).split(' | ') }));
}

/** The anchor that GitHub gives a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

/** The table, and the sentence that says where its figures come from. Markdown. */
export function tableOf(
  rows: readonly Row[],
  { date, commit, kubernetes, node, cores, cpu, load }: Environment,
): string {
  const questions = rows.reduce((sum, { ordeal }) => sum + ordeal.questions, 0);
  return [
    `\`npm run chaos\`, ${date.slice(0, 10)}, commit ${commit}: Kubernetes ${kubernetes}, Node ${node}, ${cores} cores (${cpu}), load before ${load}; ${questions} questions.`,
    '',
    '| fault | a config in use is asked for | a free one | slowest answer, s | wrongly let go | right again, s | index, s | what you see |',
    '|---|---|---|---:|---:|---:|---:|---|',
    ...rows.map(({ fault, ordeal }) => {
      const { during, wronglyLetGo, slowestSeconds, recoverySeconds, indexSeconds } = ordeal;
      const cells = [
        `[${fault.title}](#${anchorOf(fault.title)})`,
        countsText(during.used, during.moved),
        countsText(during.free),
        slowestSeconds?.toFixed(1) ?? '',
        String(wronglyLetGo.length),
        recoverySeconds === undefined ? 'never wrong' : recoverySeconds.toFixed(1),
        indexSeconds.toFixed(1),
        fault.seen,
      ];
      return `| ${cells.join(' | ')} |`;
    }),
  ].join('\n');
}

/** The page with this table in the place of the one that it has. Throws where it has none. */
export function withTable(page: string, table: string): string {
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`The page has no lines "${BEGIN}" and "${END}".`);
  return `${before}${BEGIN}\n\n${table}\n\n${END}${after}`;
}

/** The most frequent one first. */
function countsText(...several: readonly Counts[]): string {
  const sums = new Map<Answer, number>();
  for (const counts of several) {
    for (const [answer, count] of Object.entries(counts) as [Answer, number][]) {
      sums.set(answer, (sums.get(answer) ?? 0) + count);
    }
  }
  return [...sums]
    .sort(([, a], [, b]) => b - a)
    .map(([answer, count]) => `${count} × ${WORDS[answer]}`)
    .join(', ');
}
