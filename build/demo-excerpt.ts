import { stripVTControlCharacters } from 'node:util';

/** Starts a style. */
const ESCAPE = '\u001B';
/** Stands for lines that were left out. */
const LEFT_OUT = '⋮';
/** `check` prints its problems as items, and tables. The items repeat the tables. */
const ITEM = '  │ - ';
const ITEM_REST = '  │   ';
const TABLE_ROW = /^ {2}│ \S+ {2,}\S+ {2,}\S/;
const FROM = '1a  A config in use';
const TABLES = '1a  Without the guard: ';
const CONCLUSION = 'The guard denies';
const TO = 'Next, in README.md';

/**
 * Extracts the styled lines of the stories and of the conclusion from the demo's output, without the tables that repeat
 * them.
 */
export function demoExcerpt(output: string): string {
  const lines = output.split('\n');
  const findStart = (text: string): number => {
    const index = lines.findIndex((line) => stripVTControlCharacters(line).startsWith(text));
    if (index === -1) throw new Error(`The demo does not print "${text}" any more.`);
    return index;
  };
  const [from, tables, conclusion, to] = [FROM, TABLES, CONCLUSION, TO].map(findStart) as [
    number,
    number,
    number,
    number,
  ];
  const excerpt: string[] = [];
  let gap: string[] = [];
  let isItem = false;
  for (const [index, line] of lines.slice(from, to).entries()) {
    const isStory = from + index < tables || from + index >= conclusion;
    const plain = stripVTControlCharacters(line);
    const isImportant = line.includes(ESCAPE) && !TABLE_ROW.test(plain);
    isItem = isImportant ? plain.startsWith(ITEM) : isItem && line.startsWith(ITEM_REST);
    if (!isStory || !(isImportant || isItem)) {
      gap.push(line);
      continue;
    }
    excerpt.push(...shortenGap(gap), line);
    gap = [];
  }
  return excerpt.join('\n');
}

/** Keeps empty lines at the ends, which separate paragraphs. */
function shortenGap(gap: readonly string[]): string[] {
  if (gap.every((line) => line === '')) return [...gap];
  return [...(gap[0] === '' ? [''] : []), LEFT_OUT, ...(gap.at(-1) === '' ? [''] : [])];
}
