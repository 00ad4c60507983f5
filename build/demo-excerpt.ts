import { stripVTControlCharacters } from 'node:util';

/** Stands for lines that were left out. */
const LEFT_OUT = '⋮';

// oxlint-disable-next-line no-control-regex -- an escape character is what is looked for
const PAINTED = /\u001B\[(?:1|31|32|33)m/;
const FROM = '1  Without the guard';
const TABLES = 'Without the guard: ';
const CONCLUSION = 'The refused deletion';
const TO = 'Next, in README.md';

/**
 * What of the demo's output fits above the fold: the lines that it has painted because they matter, both runs, and what follows from them. The
 * tables at the end say the same once more. Takes the output with its colors.
 */
export function demoExcerpt(output: string): string {
  const lines = output.split('\n');
  const beginning = (text: string): number => {
    const index = lines.findIndex((line) => stripVTControlCharacters(line).startsWith(text));
    if (index === -1) throw new Error(`The demo does not print "${text}" any more.`);
    return index;
  };
  const [from, tables, conclusion, to] = [FROM, TABLES, CONCLUSION, TO].map(beginning) as [
    number,
    number,
    number,
    number,
  ];
  const shown: string[] = [];
  let gap: string[] = [];
  for (const [index, line] of lines.slice(from, to).entries()) {
    const isStory = from + index < tables || from + index >= conclusion;
    if (!isStory || !PAINTED.test(line)) {
      gap.push(line);
      continue;
    }
    shown.push(...shortened(gap), line);
    gap = [];
  }
  return shown.join('\n');
}

/** Empty lines at its ends stay: what they set apart remains apart. */
function shortened(gap: readonly string[]): string[] {
  if (gap.every((line) => line === '')) return [...gap];
  const leftOut = `\u001B[2m${LEFT_OUT}\u001B[22m`;
  return [...(gap[0] === '' ? [''] : []), leftOut, ...(gap.at(-1) === '' ? [''] : [])];
}
