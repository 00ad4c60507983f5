/** What of https://github.com/stryker-mutator/mutation-testing-elements is read here. */
export interface MutationReport {
  readonly files: Readonly<Record<string, { readonly source: string; readonly mutants: readonly ReportedMutant[] }>>;
}

interface ReportedMutant {
  readonly mutatorName: string;
  readonly replacement?: string;
  readonly status: string;
  readonly location: Readonly<Record<'start' | 'end', Readonly<Record<'line' | 'column', number>>>>;
}

/** The changes of each file that no test notices. */
export type Survivors = Readonly<Record<string, readonly string[]>>;

/** A file of survivors/. */
export interface SurvivorList {
  readonly folder: string;
  /** When all changes were tested last. */
  readonly measured: string;
  /** How many there were. */
  readonly changes: number;
  readonly survivors: Survivors;
}

const MAX_LENGTH = 160;
const SURVIVED = new Set(['Survived', 'NoCoverage']);
const TESTED = new Set([...SURVIVED, 'Killed', 'Timeout']);

/** Describes survivors without their lines, which move. */
export function findSurvivors({ files }: MutationReport): Survivors {
  const described = Object.entries(files).map(([file, { source, mutants }]) => {
    const survivors = mutants.filter(({ status }) => SURVIVED.has(status));
    return [file, survivors.map((mutant) => describe(mutant, source)).toSorted()] as const;
  });
  return Object.fromEntries(described.filter(([, survivors]) => survivors.length > 0));
}

/** Those that were tested. A change that does not start, or that an option ignores, counts as none. */
export function countMutants({ files }: MutationReport): number {
  return Object.values(files).flatMap(({ mutants }) => mutants.filter(({ status }) => TESTED.has(status))).length;
}

/** Returns a sentence for each survivor that is not listed, and for each listed change that is noticed now. */
export function compareSurvivors(survivors: Survivors, listed: Survivors): readonly string[] {
  const files = [...new Set([...Object.keys(survivors), ...Object.keys(listed)])];
  return files.flatMap((file) => {
    const [found = [], known = []] = [survivors[file], listed[file]];
    return [
      ...subtract(found, known).map((change) => `${file}: no test notices ${change}`),
      ...subtract(known, found).map((change) => `${file}: a test notices, so remove from the list: ${change}`),
    ];
  });
}

/** The texts that are in the first list more often. */
function subtract(texts: readonly string[], others: readonly string[]): readonly string[] {
  const rest = [...others];
  return texts.filter((text) => {
    const index = rest.indexOf(text);
    if (index >= 0) rest.splice(index, 1);
    return index < 0;
  });
}

function describe({ mutatorName, replacement = '', location: { start, end } }: ReportedMutant, source: string): string {
  const lines = source.split('\n').slice(start.line - 1, end.line);
  const last = (lines.pop() ?? '').slice(0, end.column - 1);
  const original = [...lines, last].join('\n').slice(start.column - 1);
  const text = `${mutatorName}: ${original} → ${replacement}`.replaceAll(/\s+/g, ' ');
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH)}…`;
}
